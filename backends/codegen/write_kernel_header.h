#ifndef EMULSION_BACKENDS_CODEGEN_WRITE_KERNEL_HEADER_H_
#define EMULSION_BACKENDS_CODEGEN_WRITE_KERNEL_HEADER_H_

// The typed C++17 header over a kernel's C entry: names, types, ranks and shapes that the C header
// cannot say. It adds no check and no copy, only types: what a call does is decided behind the C
// entry.
//
//   namespace emulsion::kernels::NAME {
//   constexpr std::array<int64_t, 2> x_shape(int64_t B);    one for each argument
//   constexpr int64_t flops(int64_t B);
//   using packed_w = Packed<float, 3, ...>;                 one for each packed weight
//   struct Arguments { Span<const float, 2> x; packed_w w_packed; ... };
//   Status run(const Arguments& arguments);
//   Status run(Span<const float, 2> x, ...);
//   Status pack_w(Span<const float, 2> w, Span<float, 3> memory, packed_w* packed);
//   const runtime::KernelInfo& info();                      all of this as a table
//   }

#include <string>
#include <vector>

#include "dsl/target.h"
#include "passes/analyse/count_flops.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct KernelDescription {
  std::string name;   // of the C function
  std::string label;  // what it was made from, for the reader
  const LoopNest* nest = nullptr;
  std::vector<Target> targets;
  std::vector<FlopTerm> flops;
  std::string c_header_guard;  // the macro that the C header of this kernel defines, and no other
};

std::string kernel_header(const KernelDescription& kernel);

// "x: f32[B, 256], w_packed: f32[8, 256, 64] -> y: f32[B, 512]"
std::string kernel_signature(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_WRITE_KERNEL_HEADER_H_
