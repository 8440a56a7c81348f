#ifndef EMULSION_PASSES_ANALYSE_UOP_PROGRAM_H_
#define EMULSION_PASSES_ANALYSE_UOP_PROGRAM_H_

// A nest's tree ready to be walked uOp by uOp: names resolved to slots, expressions compiled. What
// UopList walks and what measure_traffic sums over. Private to passes/analyse/.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "passes/analyse/uop_list.h"
#include "passes/index/interval_program.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Every index expression of one uOp. Slots: sizes, loops, then the axes of the stage at hand.
struct UopSite {
  UopKind kind;
  Part part;
  int32_t stage = 0;
  const Stage* of = nullptr;
  struct Read {
    int32_t buffer = 0;
    std::vector<IntervalProgram> indices;
  };
  struct TileLoop {
    int slot = 0;
    int64_t min = 0, extent = 0;
  };
  std::vector<TileLoop> tile;  // the loops inside the uOp
  std::vector<IntervalProgram> guards;
  std::vector<int> axis_slots;         // of the stage's axes, set from `point`
  std::vector<IntervalProgram> point;  // over sizes and loops
  std::vector<Read> reads;             // over sizes and axis slots; in the order of the body
  int32_t write = 0;                   // buffer
  std::vector<int64_t> domain;  // the extent of each axis; update: then of each reduction axis
};

struct UopStep {
  enum class Kind : uint8_t { sequence, loop, alloc, uop };
  Kind kind = Kind::sequence;
  std::vector<const UopStep*> children;
  // loop
  int slot = 0;
  IntervalProgram min, extent;
  bool never = false;  // nothing is issued inside
  // alloc: of this buffer
  int32_t buffer = 0;
  std::vector<IntervalProgram> mins, extents;
  int site = -1;  // uOps
};

// A box of indices: what a buffer's indices may be.
struct IndexBox {
  std::vector<IntegerRange> axes;
};

class UopProgram {
 public:
  UopProgram(const LoopNest& nest, const SizeValues& sizes);

  const UopStep& root() const { return *root_; }
  bool has_root() const { return nest_.root != nullptr; }
  const std::vector<UopSite>& sites() const { return sites_; }
  // Values of all slots, sizes set; and, by buffer, what an index may be: whole shapes, and for an
  // internal buffer whatever enter_alloc() last said.
  const std::vector<IntegerRange>& initial_slots() const { return slots_; }
  const std::vector<IndexBox>& initial_boxes() const { return boxes_; }
  bool in_main_memory(int32_t buffer) const { return main_memory_[static_cast<size_t>(buffer)]; }
  bool is_internal(int32_t buffer) const {
    return nest_.buffers[static_cast<size_t>(buffer)].role == BufferRole::internal;
  }
  int64_t element_size(int32_t buffer) const { return element_sizes_[static_cast<size_t>(buffer)]; }

  static void enter_alloc(const UopStep& alloc, const std::vector<IntegerRange>& slots,
                          std::vector<IndexBox>* boxes);
  // The uOp of a site for these loop values; all but its position in the list.
  void make_uop(const UopSite& site, std::vector<IntegerRange>* slots,
                const std::vector<IndexBox>& boxes, Uop* uop) const;

 private:
  UopStep* compile(const Node& node);
  UopStep* compile_kind(const Node& node);
  UopStep* compile_loop(const Loop& loop);
  UopStep* compile_alloc(const Alloc& alloc);
  UopStep* keep(UopStep step);
  void compile_site(const UopNode& uop);
  int add_slot(const std::string& name, IntegerRange range);

  const LoopNest& nest_;
  SizeValues sizes_;
  std::deque<UopStep> steps_;  // all; each stays where it is
  const UopStep* root_ = nullptr;
  std::vector<UopSite> sites_;
  std::vector<UopSite::TileLoop> tile_;  // around the node that is compiled
  std::map<std::string, int> names_;
  std::vector<IntegerRange> slots_;
  std::vector<IndexBox> boxes_;
  std::vector<bool> main_memory_;
  std::vector<int64_t> element_sizes_;
};

}  // namespace emulsion

#endif  // EMULSION_PASSES_ANALYSE_UOP_PROGRAM_H_
