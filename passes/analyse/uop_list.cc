#include "passes/analyse/uop_list.h"

#include <algorithm>

#include "dsl/error.h"
#include "passes/analyse/uop_program.h"

namespace emulsion {

int64_t UopRegion::elements() const {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) count *= extent[static_cast<size_t>(d)];
  return count;
}

bool UopRegion::operator==(const UopRegion& other) const {
  return buffer == other.buffer && rank == other.rank &&
         std::equal(min.begin(), min.begin() + rank, other.min.begin()) &&
         std::equal(extent.begin(), extent.begin() + rank, other.extent.begin());
}

struct UopList::Program : UopProgram {
  using UopProgram::UopProgram;
};

// The loops around the uOp at hand, each with its counter.
class UopList::Iterator::Walk {
 public:
  explicit Walk(const UopProgram& program)
      : program_(program), slots_(program.initial_slots()), boxes_(program.initial_boxes()) {
    uop_.index = -1;
    if (program.has_root()) enter(program.root());
  }

  // Goes to the next uOp; false when there is none.
  bool next() {
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.at == frame.end) {
        frames_.pop_back();
        continue;
      }
      const UopStep& step = *frame.step;
      const bool loop = step.kind == UopStep::Kind::loop;
      const int64_t value = frame.first + frame.at;
      if (loop) slots_[static_cast<size_t>(step.slot)] = {value, value};
      const UopStep& child = *step.children[loop ? 0 : static_cast<size_t>(frame.at)];
      ++frame.at;
      if (enter(child)) return true;
    }
    return false;
  }
  const Uop& uop() const { return uop_; }
  bool started_at_a_uop() const { return uop_.index == 0; }

 private:
  struct Frame {
    const UopStep* step;
    int64_t at, end;
    int64_t first;  // of a loop: the value of its variable at 0
  };

  // True when `step` is a uOp: then it is the one at hand.
  bool enter(const UopStep& step) {
    if (step.never) return false;
    if (step.site < 0) {
      if (step.kind == UopStep::Kind::alloc) UopProgram::enter_alloc(step, slots_, &boxes_);
      const bool loop = step.kind == UopStep::Kind::loop;
      const int64_t end = loop ? std::max<int64_t>(0, step.extent.range(slots_).lowest)
                               : static_cast<int64_t>(step.children.size());
      frames_.push_back({&step, 0, end, loop ? step.min.range(slots_).lowest : 0});
      return false;
    }
    program_.make_uop(program_.sites()[static_cast<size_t>(step.site)], &slots_, boxes_, &uop_);
    ++uop_.index;
    return true;
  }

  const UopProgram& program_;
  std::vector<IntegerRange> slots_;
  std::vector<IndexBox> boxes_;
  std::vector<Frame> frames_;
  Uop uop_;
};

UopList::UopList(const LoopNest& nest, const SizeValues& sizes)
    : nest_(nest), size_(0), program_(std::make_unique<const Program>(nest, sizes)) {
  size_ = count_uops(nest, sizes).total();
}

UopList::~UopList() = default;

bool UopList::in_main_memory(int32_t buffer) const { return program_->in_main_memory(buffer); }

UopList::Iterator::Iterator() = default;
UopList::Iterator::~Iterator() = default;
UopList::Iterator::Iterator(Iterator&&) noexcept = default;
UopList::Iterator& UopList::Iterator::operator=(Iterator&&) noexcept = default;

UopList::Iterator::Iterator(const UopList* list) : walk_(std::make_unique<Walk>(*list->program_)) {
  if (!walk_->started_at_a_uop()) ++*this;
}

const Uop& UopList::Iterator::operator*() const {
  EMULSION_CHECK(walk_ != nullptr, "the end of a list of uOps has no uOp");
  return walk_->uop();
}

UopList::Iterator& UopList::Iterator::operator++() {
  EMULSION_CHECK(walk_ != nullptr, "a step past the end of a list of uOps");
  if (!walk_->next()) walk_.reset();
  return *this;
}

int64_t write_json_lines(const UopList& list, std::ostream& out, int64_t most) {
  int64_t lines = 0;
  for (auto at = list.begin(); lines < most && at != list.end(); ++at, ++lines) {
    out << to_json(*at, list.nest()) << '\n';
  }
  return lines;
}

}  // namespace emulsion
