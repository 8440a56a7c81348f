#include "passes/nest/verify_nest_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/error.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/verify_nest_storage.h"
#include "passes/nest/verify_nest_values.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

using Point = std::vector<int64_t>;

constexpr int64_t kMostSteps = 256;      // of a loop around the parts
constexpr int64_t kMostOfAll = 4096;     // of all of these
constexpr int64_t kMostElements = 4096;  // of what is stored

const WindowNode* part_of(const Node& node) {
  const WindowNode* window = node.as<WindowNode>();
  return window != nullptr && window->is_whole ? window : nullptr;
}

struct Box {
  Point mins, ends;

  bool has(const Point& point) const {
    for (size_t d = 0; d < point.size(); ++d) {
      if (point[d] < mins[d] || point[d] >= ends[d]) return false;
    }
    return true;
  }
};

// The parts of one stage, in order, and who reads it.
class StageParts : public ValueVisitor {
 public:
  StageParts(const LoopNest& nest, const std::string& stage) : ValueVisitor(nest), stage_(stage) {}

  void verify() {
    for_all_sizes([&] {
      domain_ = {};
      for (const Axis& axis : nest_.stage(stage_).axes) {
        domain_.mins.push_back(0);
        domain_.ends.push_back(axis.extent().evaluate(values_));
      }
      parts_.clear();
      takes_all_steps_ = true;
      walk(*nest_.root);
      if (takes_all_steps_) verify_all_computed();
    });
  }

 private:
  // What is inside of the body of a loop, of the stage: of a nest of many, few loops have anything.
  struct Inside {
    bool parts = false, reads = false;
  };
  const Inside& inside(const Node& body) {
    const auto [known, is_new] = inside_.try_emplace(&body);
    if (is_new) {
      for_each_node(body, [&](const Node& node) {
        const WindowNode* part = part_of(node);
        const UopNode* uop = node.as<UopNode>();
        if (part != nullptr && part->stage == stage_) known->second.parts = true;
        if (uop == nullptr || uop->part == Part::init) return;
        if (reads(body_of(nest_.stage(uop->stage), *uop), stage_)) known->second.reads = true;
      });
    }
    return known->second;
  }

  void visit_loop(const Loop& loop) override {
    const auto [is_around, has_readers] = inside(*loop.body);
    if (!is_around && !has_readers) return;
    const int64_t min = value_of(loop.min), extent = value_of(loop.extent);
    const bool all = is_around && extent <= kMostSteps && steps_around_ * extent <= kMostOfAll;
    if (is_around && !all) takes_all_steps_ = false;
    if (is_around) ++loops_around_;
    const int64_t steps_outside = steps_around_;
    if (all) steps_around_ *= extent;
    for (int64_t i = 0; i < extent; i += all ? 1 : std::max<int64_t>(extent - 1, 1)) {
      if (is_around) part_.reset();
      walk_at(loop, min + i);
    }
    if (is_around) --loops_around_;
    steps_around_ = steps_outside;
  }

  void visit_window(const WindowNode& window) override {
    if (window.stage != stage_) return walk(*window.body);
    Box box;
    for (size_t d = 0; d < window.mins.size(); ++d) {
      const int64_t min = value_of(window.mins[d]);
      box.mins.push_back(std::max<int64_t>(min, 0));
      box.ends.push_back(std::min(min + value_of(window.extents[d]), domain_.ends[d]));
    }
    parts_.push_back(box);
    part_ = std::move(box);
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.part == Part::init || !runs(uop)) return;
    const Stage& stage = nest_.stage(uop.stage);
    const Expr& body = body_of(stage, uop);
    if (!reads(body, stage_)) return;
    visit_reads(body, axes_at(stage, uop), [&](const Expr& read, const Point& index) {
      if (read->name != stage_) return;
      EMULSION_CHECK(!parts_.empty(), "nest {}: {} reads {}[{}] before any part of it is computed",
                     nest_.name, stage.name, stage_, fmt::join(index, ", "));
      EMULSION_CHECK(loops_around_ == 0 || (part_ && part_->has(index)),
                     "nest {}: {} reads {}[{}], which is of no part that its step has computed",
                     nest_.name, stage.name, stage_, fmt::join(index, ", "));
    });
  }

  void verify_all_computed() const {
    int64_t elements = 1;
    for (const int64_t extent : domain_.ends) {
      elements = std::min(elements, kMostElements + 1) * std::min(extent, kMostElements + 1);
    }
    if (elements > kMostElements) return;
    std::map<Point, int> computed;
    for (const Box& part : parts_) {
      for_each_point(part, [&](const Point& point) { ++computed[point]; });
    }
    for_each_point(domain_, [&](const Point& point) {
      const auto found = computed.find(point);
      EMULSION_CHECK(found != computed.end(), "nest {}: {}[{}] is in no part", nest_.name, stage_,
                     fmt::join(point, ", "));
      EMULSION_CHECK(found->second == 1, "nest {}: {}[{}] is in {} parts", nest_.name, stage_,
                     fmt::join(point, ", "), found->second);
    });
  }

  template <typename Visit>
  static void for_each_point(const Box& box, const Visit& visit) {
    for (size_t d = 0; d < box.mins.size(); ++d) {
      if (box.mins[d] >= box.ends[d]) return;
    }
    Point point = box.mins;
    for (;;) {
      visit(point);
      size_t d = point.size();
      while (d > 0 && ++point[d - 1] == box.ends[d - 1]) {
        point[d - 1] = box.mins[d - 1];
        --d;
      }
      if (d == 0) return;
    }
  }

  const std::string& stage_;
  std::unordered_map<const Node*, Inside> inside_;  // of the bodies of loops
  Box domain_;
  std::vector<Box> parts_;
  std::optional<Box> part_;   // of the step at hand
  int loops_around_ = 0;      // of the loops around parts, those around the node at hand
  int64_t steps_around_ = 1;  // of those of them that take all their steps
  bool takes_all_steps_ = true;
};

}  // namespace

bool is_part_of_output(const LoopNest& nest, const WindowNode& window) {
  return window.is_whole && nest.buffer(window.stage).role == BufferRole::output;
}

void verify_nest_parts(const LoopNest& nest) {
  std::set<std::string> stages;
  for_each_node(*nest.root, [&](const Node& node) {
    const WindowNode* part = part_of(node);
    if (part == nullptr) return;
    EMULSION_CHECK(part->slides.empty(), "nest {}: a part of {} that slides", nest.name,
                   part->stage);
    stages.insert(part->stage);
  });
  for (const std::string& stage : stages) StageParts(nest, stage).verify();
}

}  // namespace emulsion
