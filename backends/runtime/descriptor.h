#ifndef EMULSION_BACKENDS_RUNTIME_DESCRIPTOR_H_
#define EMULSION_BACKENDS_RUNTIME_DESCRIPTOR_H_

// What a generated kernel expects of its arguments, as the text that travels inside its object
// file, parsed. Text, because one C function then serves every kernel, and because the same string
// can be read by people and by other tools. Shapes are row-major, in the user's order; the grammar:
//
//   descriptor := kernel_name '\n' sizes '\n' (argument '\n')*
//   sizes      := the names of the run-time sizes, separated by ',', or nothing
//   argument   := kind ' ' name ' ' dtype ' ' alignment_bytes ' ' rank (' ' extent)*
//   kind       := 'i' | 'o' | 'p' ' ' weight
//   dtype      := bool | i8 | u8 | i16 | u16 | i32 | bf16 | f32 | f64
//   extent     := ['-'] term (('+'|'-') term)*     without spaces: 256, B, 2*B+1, B+T-3, -1*B+8
//   term       := number | size | number '*' size
//
// The kinds: i, an input or a weight; o, an output; p, a weight as the kernel's pack function for
// `weight` makes it.
//
// An alignment of 0 asks for the element's own. The value of a size is taken from the first
// dimension, in the order of arguments and axes, in which it is the only size that is not known
// yet.

#include <cstdint>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "backends/runtime/thread_state.h"

namespace emulsion::runtime {

struct SizeTerm {
  int size;  // an index into Descriptor::sizes
  int64_t coefficient;
};

struct ArgumentExtent {
  std::string text;
  int64_t constant = 0;
  std::vector<SizeTerm> terms;  // each size at most once, no coefficient is 0
};

struct ArgumentSpec {
  bool is_output = false;
  std::string packed_from;  // the name of the weight; empty when it is not packed
  std::string name;
  std::string dtype;
  halide_type_t type;
  int alignment = 1;  // of the host pointer, at least the element's
  std::vector<ArgumentExtent> extents;
};

// Which dimension says what a size is. In the order in which they can be evaluated.
struct SizeBinding {
  int size;
  int argument;
  int axis;
};

struct Descriptor {
  static constexpr int kMaxSizes = 64;
  static constexpr int kMaxRank = 64;

  std::string kernel;
  std::vector<std::string> sizes;
  std::vector<ArgumentSpec> arguments;
  std::vector<SizeBinding> bindings;  // one for each size
};

// "f32", or a description of a type that no argument can have, such as "uint16".
void append_type(const halide_type_t& type, ErrorMessage* message);

// False, with the reason, when `text` does not follow the grammar or leaves a size without a value.
bool parse_descriptor(const char* text, Descriptor* descriptor, ErrorMessage* reason);

}  // namespace emulsion::runtime

#endif  // EMULSION_BACKENDS_RUNTIME_DESCRIPTOR_H_
