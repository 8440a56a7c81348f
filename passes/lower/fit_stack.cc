// What a kernel has on the stack at once, and what of it goes to the heap.
//
// Each function of a kernel's code has a frame: the kernel itself, and the body of each parallel
// loop, which the calling thread runs too. Storage has its place in the frame as long as the
// function runs; what is done with it leaves its place to storage of the same type that is no
// larger. So backends/halide gives it to Halide, and so it is counted here.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_storage.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// A thread's stack may have 64 KiB. What calls a kernel, what threads need to share a loop, and
// values for which a processor has no register are there as well.
constexpr int64_t kMostBytes = int64_t{40} << 10;
constexpr int64_t kAlignment = 64;

bool is_near(const StageStorage& storage) {
  return storage.memory == Memory::stack || storage.memory == Memory::registers;
}

int64_t bytes_of(const Stage& stage, const StageStorage& storage) {
  int64_t bytes = size_in_bytes(stage.dtype);
  for (size_t d = 0; d < storage.extents.size(); ++d) {
    // Of no number where there is room for a number.
    bytes *= storage.layout.padded(d, constant_value(storage.extents[d]).value_or(1));
  }
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The most that is on the stack at once, of the stages that `counts` names.
class StackMeter : public NestVisitor {
 public:
  StackMeter(const NestPlan& nest, const std::vector<StageStorage>& storage,
             const std::vector<bool>& counts)
      : nest_(nest), storage_(storage), counts_(counts), frames_(1) {}

  int64_t most() const { return most_; }
  // The stage with which it became too much; nothing when it did not.
  std::optional<StageId> first_too_many() const { return first_too_many_; }

 private:
  struct Place {
    DType dtype;
    int64_t bytes;
  };
  struct Frame {
    int64_t bytes = 0;
    int64_t inside = 0;       // the most of the functions that it has called
    std::vector<Place> free;  // what is done with
  };

  void visit_loop(const Loop& loop) override {
    if (loop.kind != LoopKind::parallel) return walk(*loop.body);
    frames_.emplace_back();
    walk(*loop.body);
    const int64_t inside = frames_.back().bytes + frames_.back().inside;
    frames_.pop_back();
    frames_.back().inside = std::max(frames_.back().inside, inside);
  }

  void visit_alloc(const Alloc& alloc) override {
    if (hoisted_.count(alloc.stage) > 0) return walk(*alloc.body);
    with_place(alloc, *alloc.body);
  }

  void visit_hoisted_alloc(const HoistedAlloc& hoisted) override {
    hoisted_.insert(hoisted.stage);
    with_place(hoisted, *hoisted.body);
    hoisted_.erase(hoisted.stage);
  }

  void with_place(const Storage& storage, const Node& body) {
    const StageId id = nest_.find(storage.stage).value();
    if (!counts_[id]) return walk(body);
    const Place place = take(id);
    walk(body);
    frames_.back().free.push_back(place);
  }

  Place take(StageId id) {
    const Stage& stage = nest_.stages[id].stage;
    const Place wanted{stage.dtype, bytes_of(stage, storage_[id])};
    std::vector<Place>& free = frames_.back().free;
    const auto found = std::find_if(free.begin(), free.end(), [&](const Place& place) {
      return place.dtype == wanted.dtype && place.bytes >= wanted.bytes;
    });
    if (found != free.end()) {
      const Place place = *found;
      free.erase(found);
      return place;
    }
    frames_.back().bytes += wanted.bytes;
    int64_t bytes = frames_.back().inside;
    for (const Frame& frame : frames_) bytes += frame.bytes;
    most_ = std::max(most_, bytes);
    if (most_ > kMostBytes && !first_too_many_) first_too_many_ = id;
    return wanted;
  }

  const NestPlan& nest_;
  const std::vector<StageStorage>& storage_;
  const std::vector<bool>& counts_;  // by stage
  std::vector<Frame> frames_;        // of the functions around the node at hand
  std::set<std::string> hoisted_;    // stages whose memory is around the node at hand
  int64_t most_ = 0;
  std::optional<StageId> first_too_many_;
};

}  // namespace

bool fit_stack(const Node& root, const NestPlan& nest, std::vector<StageStorage>* storage) {
  const size_t count = nest.stages.size();
  std::vector<bool> asked(count), near(count);
  std::vector<StageId> automatic;
  for (StageId id = 0; id < count; ++id) {
    near[id] = is_near((*storage)[id]);
    asked[id] = near[id] && nest.stages[id].memory != Memory::automatic;
    if (near[id] && !asked[id]) automatic.push_back(id);
  }
  const auto measured = [&](const std::vector<bool>& counts) {
    StackMeter meter(nest, *storage, counts);
    meter.walk(root);
    return meter;
  };
  if (!measured(near).first_too_many()) return false;

  const StackMeter of_asked = measured(asked);
  if (const std::optional<StageId> id = of_asked.first_too_many()) {
    const ScheduledStage& plan = nest.stages[*id];
    refuse(plan.stage.name, plan.source_directive(DirectiveKind::store_in),
           fmt::format("expected at most {} bytes on the stack at once, as many as a small stack "
                       "has room for, got {} with those of other operations; legal: heap, or "
                       "compute_at an inner loop",
                       kMostBytes, of_asked.most()),
           {plan.stage.name, ""});
  }

  // The smallest stay: memory for a small tile is asked for most often.
  std::stable_sort(automatic.begin(), automatic.end(), [&](StageId a, StageId b) {
    return bytes_of(nest.stages[a].stage, (*storage)[a]) <
           bytes_of(nest.stages[b].stage, (*storage)[b]);
  });
  std::vector<size_t> kept(automatic.size());
  std::iota(kept.begin(), kept.end(), 1);
  const auto fits = [&](size_t smallest) {
    std::vector<bool> counts = asked;
    for (size_t i = 0; i < smallest; ++i) counts[automatic[i]] = true;
    return !measured(counts).first_too_many();
  };
  const auto first_moved = std::partition_point(kept.begin(), kept.end(), fits) - kept.begin();
  for (auto id = automatic.begin() + first_moved; id != automatic.end(); ++id) {
    (*storage)[*id].memory = Memory::heap;
  }
  return true;
}

}  // namespace emulsion
