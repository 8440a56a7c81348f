#ifndef EMULSION_PASSES_ANALYSE_UOP_LIST_H_
#define EMULSION_PASSES_ANALYSE_UOP_LIST_H_

// A nest's uOps one after another, as a machine would be told them: what each does and which boxes
// of which buffers it reads and writes, as numbers, for one iteration of all the loops around it.
// Tile loops (LoopKind::tile) are inside the uOp, so for a tile machine an entry is the Load,
// Execute or Store of a whole tile; for a CPU nest, which has none, it is that of one element.
//
// The list is a lazy view of the tree: it holds a counter for each loop and no entries, so the
// first of 10^12 uOps costs as much as the first of ten, and walking it takes constant memory. Its
// length is arithmetic over the tree (count_uops).

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// A box of a buffer, row-major: the elements min[d] <= index[d] < min[d] + extent[d]. Of an
// argument, a constant or heap storage only what is inside its shape; of storage near the
// arithmetic (registers, stack, scratchpad) only what is allocated, which at the edges of a domain
// may reach past its end: a tile has a constant size. Where reads are no box (a stride, a select),
// the smallest box around them.
struct UopRegion {
  static constexpr int kMostAxes = 8;

  int32_t buffer = -1;  // position in LoopNest::buffers
  int32_t rank = 0;
  std::array<int32_t, kMostAxes> min{};
  std::array<int32_t, kMostAxes> extent{};  // 0 or greater

  int64_t elements() const;
  bool operator==(const UopRegion& other) const;  // false for another buffer
  bool operator!=(const UopRegion& other) const { return !(*this == other); }
};

struct Uop {
  UopKind kind = UopKind::execute;
  Part part = Part::pure;  // of an execute: start value, update, or neither
  int32_t stage = -1;      // position in LoopNest::stages
  int64_t index = 0;       // position in the list, from 0
  // Each buffer once, in the order of first read; not the accumulator that an update adds to.
  std::vector<UopRegion> reads;
  UopRegion write;
  // update: the box of the stage's reduction axes, inside their domain; buffer is -1
  UopRegion reduction;
  bool idle = false;  // its guards fail for every point: it does nothing, its boxes are empty
  // To and from main memory: arguments, constants and heap storage. An update of main memory reads
  // and writes it.
  int64_t bytes = 0;
  int64_t macs = 0;  // update: how many points inside the domain; else 0
};

// "3: load x_tile[0 .. +32, 64 .. +32] <- x[0 .. +32, 64 .. +32], 4096 bytes".
std::string to_string(const Uop& uop, const LoopNest& nest);
// One JSON object, without a line break: {"index": 3, "kind": "load", "stage": "x_tile", "part":
// "pure", "reads": [{"buffer": "x", "min": [0, 64], "extent": [32, 32]}], "write": {...}, "bytes":
// 4096, "macs": 0}; "reduction": {"min": [64], "extent": [32]} for an update.
std::string to_json(const Uop& uop, const LoopNest& nest);

// for (const Uop& uop : UopList(nest)) ...   The nest must outlive the list.
class UopList {
 public:
  // Error: a size without a value, a buffer or a reduction of more than UopRegion::kMostAxes axes.
  explicit UopList(const LoopNest& nest, const SizeValues& sizes = {});
  ~UopList();
  UopList(const UopList&) = delete;
  UopList& operator=(const UopList&) = delete;

  int64_t size() const { return size_; }
  const LoopNest& nest() const { return nest_; }
  // Whether a buffer, by its position in LoopNest::buffers, is in main memory.
  bool in_main_memory(int32_t buffer) const;

  // An input iterator; *it is valid until ++it.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Uop;
    using difference_type = std::ptrdiff_t;
    using pointer = const Uop*;
    using reference = const Uop&;

    Iterator();  // the end
    explicit Iterator(const UopList* list);
    ~Iterator();
    Iterator(Iterator&&) noexcept;
    Iterator& operator=(Iterator&&) noexcept;

    const Uop& operator*() const;
    const Uop* operator->() const { return &**this; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return walk_ == other.walk_; }
    bool operator!=(const Iterator& other) const { return walk_ != other.walk_; }

   private:
    class Walk;
    std::unique_ptr<Walk> walk_;  // null at the end
  };
  Iterator begin() const { return Iterator(this); }
  Iterator end() const { return Iterator(); }

 private:
  struct Program;
  const LoopNest& nest_;
  int64_t size_;
  std::unique_ptr<const Program> program_;
};

// One to_json() a line, in constant memory; the number of lines. `most`: stop after so many.
int64_t write_json_lines(const UopList& list, std::ostream& out, int64_t most = INT64_MAX);

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_UOP_LIST_H_
