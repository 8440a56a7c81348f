#ifndef EMULSION_BACKENDS_HALIDE_EMIT_PLACES_H_
#define EMULSION_BACKENDS_HALIDE_EMIT_PLACES_H_

// Where the elements of a buffer are in memory: the one file that turns a row-major index into the
// flat offset that Halide's loads and stores take.

#include <cstdint>
#include <string>
#include <vector>

#include "Halide.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What Halide knows a buffer, a stage or an axis as. Not by its own name: a function of the C
// library would be taken for what its name says.
inline std::string halide_name(const std::string& name) { return "e_" + name; }

// Element [i0, i1, ...] of the buffer is at offset(), in elements, from the start of `memory`. All
// lists have one entry for each axis, row-major.
struct Place {
  std::string buffer;  // its name in the nest
  std::string memory;  // Halide's name of the pointer
  Halide::Type type;   // of one element as a value
  BufferRole role = BufferRole::internal;
  Shape shape;  // what an index may be
  std::vector<Halide::Expr> mins;
  std::vector<Halide::Expr> extents;  // of what is in memory: index - min is less
  std::vector<Halide::Expr> strides;
  std::vector<int64_t> folds;   // n > 0: index i lives at i mod n; empty: none
  Halide::Parameter parameter;  // of arguments and constants: what Halide may take to be aligned
  Halide::Buffer<> image;       // of constants
  Halide::Expr has_elements;    // undefined: always

  int64_t fold(size_t axis) const { return folds.empty() ? 0 : folds[axis]; }
  // The least index that is in memory.
  Halide::Expr lowest(size_t axis) const { return fold(axis) > 0 ? Halide::Expr(0) : mins[axis]; }
  // How far the index is from the start along each axis: from 0 to less than the extent.
  std::vector<Halide::Expr> relative(const std::vector<Halide::Expr>& indices) const;
  Halide::Expr offset(const std::vector<Halide::Expr>& indices) const;
  Halide::Expr load(const Halide::Expr& at_offset, const Halide::Expr& predicate) const;
  Halide::Internal::Stmt store(const Halide::Expr& value, const Halide::Expr& at_offset,
                               const Halide::Expr& predicate) const;
};

// A value of that type as it is in memory: a bool takes a byte.
Halide::Type type_in_memory(const Halide::Type& type);

// What Halide knows the descriptor of an argument as, and the argument itself.
Halide::Expr buffer_handle(const std::string& argument);
// The pointer that its descriptor holds.
Halide::Expr host_pointer(const std::string& argument);
Halide::Internal::LoweredArgument buffer_argument(const Buffer& buffer, const std::string& name);

// An argument or a constant: dense and row-major from 0. `extents`: those of its shape.
Place dense_place(const Buffer& buffer, const std::vector<Halide::Expr>& extents);

// How far neighbours along each axis are from each other, in elements, and how many there are in
// all: two at least, since Halide 21 does not align a single one on the stack, and masked vectors
// may be stored there. Of an axis without elements there is room for one.
std::vector<Halide::Expr> storage_strides(const StorageLayout& layout,
                                          const std::vector<Halide::Expr>& extents,
                                          Halide::Expr* elements);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EMIT_PLACES_H_
