#include "passes/nest/verify_nest_written.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/range_arithmetic.h"
#include "dsl/types.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/verify_nest_storage.h"
#include "passes/nest/verify_nest_values.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// Iterations of the loops inside an alloc: all first, all last, and mixtures of both.
constexpr unsigned kMixtures = 6;

using Ranges = std::map<std::string, IntegerRange>;
// For each axis; nothing: it may be any index.
using WrittenBox = std::vector<std::optional<IntegerRange>>;

// A range that holds all values of the expression, whichever its variables have in theirs. Nothing:
// of what is read.
std::optional<IntegerRange> range_of_index(const Expr& e, const Ranges& variables) {
  if (e->op == ExprOp::constant) return IntegerRange{e->int_value, e->int_value};
  if (e->op == ExprOp::axis || e->op == ExprOp::size) {
    auto found = variables.find(e->name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  }
  if (e->op == ExprOp::read || is_float(e.dtype())) return std::nullopt;
  IntegerRange args[3];
  for (size_t i = 0; i < e->args.size(); ++i) {
    const auto arg = range_of_index(e->args[i], variables);
    const bool is_condition = e->op == ExprOp::select && i == 0;
    if (!arg && !is_condition) return std::nullopt;
    args[i] = arg.value_or(IntegerRange{0, 1});
  }
  return range_of(e->op, args[0], args[1], args[2]);
}

void include(const WrittenBox& added, WrittenBox* box) {
  for (size_t d = 0; d < added.size(); ++d) {
    std::optional<IntegerRange>& range = (*box)[d];
    if (!range || !added[d]) {
      range.reset();
      continue;
    }
    range = united(*range, *added[d]);
  }
}

using Written = std::map<Part, WrittenBox>;

// Who reads what, and where in the tree: so that the check of one alloc looks only into the loops
// and the allocs that write or read it. UOps are counted in the order of the tree, so that what is
// inside a node is a range of numbers.
class StageUses : public NestVisitor {
 public:
  explicit StageUses(const LoopNest& nest) {
    for (const Stage& stage : nest.stages) {
      stages_[stage.name] = &stage;
      users_[stage.name].insert(stage.name);
      visit(stage.body, [&](const Expr& e) {
        if (e->op == ExprOp::read) users_[e->name].insert(stage.name);
      });
    }
    for (const auto& [stage, users] : users_) {
      for (const std::string& user : users) used_by_[user].push_back(&uses_[stage]);
    }
    walk(*nest.root);
  }

  const Stage& stage(const std::string& name) const { return *stages_.at(name); }
  bool uses(const std::string& user, const std::string& stage) const {
    return users_.at(stage).count(user) > 0;
  }
  // `node`: a Loop or an Alloc of the tree.
  bool any_uses(const void* node, const std::string& stage) const {
    const auto& [first, end] = inside_.at(node);
    const std::vector<size_t>& uses = uses_.at(stage);
    const auto next = std::lower_bound(uses.begin(), uses.end(), first);
    return next != uses.end() && *next < end;
  }

 private:
  void visit_loop(const Loop& loop) override { walk_inside(&loop, *loop.body); }
  void visit_alloc(const Alloc& alloc) override { walk_inside(&alloc, *alloc.body); }

  void walk_inside(const void* node, const Node& body) {
    const size_t first = uops_;
    walk(body);
    inside_[node] = {first, uops_};
  }

  void visit_uop(const UopNode& uop) override {
    for (std::vector<size_t>* uses : used_by_[uop.stage]) uses->push_back(uops_);
    ++uops_;
  }

  std::unordered_map<std::string, const Stage*> stages_;
  std::map<std::string, std::set<std::string>> users_;  // by what is read; a stage uses itself
  std::map<std::string, std::vector<size_t>> uses_;     // of a stage: the numbers of the uOps
  std::map<std::string, std::vector<std::vector<size_t>*>> used_by_;  // by user: lists of uses_
  std::unordered_map<const void*, std::pair<size_t, size_t>> inside_;
  size_t uops_ = 0;
};

// The writes to one alloc, guards or none: what is outside of them is written by nobody. Only what
// is stored without having been loaded does not count.
class WriteCollector : public ValueVisitor {
 public:
  WriteCollector(const LoopNest& nest, const StageUses& stages, const Alloc& alloc,
                 const IndexValues& values)
      : ValueVisitor(nest, values), stages_(stages), alloc_(alloc) {
    for (const auto& [name, value] : values) ranges_[name] = {value, value};
  }

  Written collect() {
    walk(*alloc_.body);
    return std::move(written_);
  }
  // After that: how many that run are inside one another.
  unsigned loops() const { return loops_; }

 private:
  void visit_alloc(const Alloc& alloc) override {
    if (stages_.any_uses(&alloc, alloc_.stage)) walk(*alloc.body);
  }

  void visit_loop(const Loop& loop) override {
    if (!stages_.any_uses(&loop, alloc_.stage)) return;
    const auto min = range_of_index(loop.min, ranges_);
    const auto extent = range_of_index(loop.extent, ranges_);
    if (extent && extent->highest <= 0) return;
    const std::string variable = loop.variable();
    if (min && extent) ranges_[variable] = {min->lowest, min->highest + extent->highest - 1};
    loops_ = std::max(loops_, ++depth_);
    walk(*loop.body);
    --depth_;
    ranges_.erase(variable);
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.stage != alloc_.stage) return;
    WrittenBox box;
    for (size_t d = 0; d < alloc_.extents.size(); ++d) {
      box.push_back(range_of_index(uop.point[d], ranges_));
      if (box.back()) box.back()->highest = std::min(box.back()->highest, last_loaded(uop, d));
    }
    auto [found, first] = written_.emplace(uop.part, box);
    if (!first) include(box, &found->second);
  }

  // The last index that guards of loads leave: where one is local < extent, and the index a known
  // distance from the local one.
  int64_t last_loaded(const UopNode& uop, size_t axis) const {
    int64_t last = std::numeric_limits<int64_t>::max();
    for (const Guard& guard : uop.guards) {
      if (guard.mask != GuardMask::loads || guard.condition->op != ExprOp::lt) continue;
      const Expr &local = guard.condition->args[0], &extent = guard.condition->args[1];
      const auto distance = range_of_index(simplify_index(uop.point[axis] - local), ranges_);
      const auto end = range_of_index(extent, ranges_);
      if (!distance || !end || !distance->is_point()) continue;
      last = std::min(last, distance->lowest + end->highest - 1);
    }
    return last;
  }

  const StageUses& stages_;
  const Alloc& alloc_;
  Ranges ranges_;
  Written written_;
  unsigned depth_ = 0, loops_ = 0;
};

// One alloc, where the loops around it and the sizes have these values.
class WrittenRegion : public ValueVisitor {
 public:
  WrittenRegion(const LoopNest& nest, const StageUses& stages, const Alloc& alloc,
                const IndexValues& values)
      : ValueVisitor(nest, values), stages_(stages), alloc_(alloc) {}

  void verify() {
    WriteCollector collector(nest_, stages_, alloc_, values_);
    written_ = collector.collect();
    std::set<std::vector<bool>> seen;  // of few loops, several mixtures are the same
    for (mixture_ = 0; mixture_ < kMixtures; ++mixture_) {
      std::vector<bool> lasts;
      for (unsigned depth = 0; depth < collector.loops(); ++depth) lasts.push_back(is_last(depth));
      if (seen.insert(std::move(lasts)).second) walk(*alloc_.body);
    }
  }

 private:
  void visit_alloc(const Alloc& alloc) override {
    if (stages_.any_uses(&alloc, alloc_.stage)) walk(*alloc.body);
  }

  void visit_loop(const Loop& loop) override {
    if (!stages_.any_uses(&loop, alloc_.stage)) return;
    const int64_t min = value_of(loop.min), extent = value_of(loop.extent);
    if (extent <= 0) return;
    const bool last = is_last(depth_++);
    walk_at(loop, last ? min + extent - 1 : min);
    --depth_;
  }

  // All first, all last, then by bits that differ from loop to loop.
  bool is_last(unsigned depth) const {
    const unsigned bits = mixture_ * 0x9e3779b9u >> (depth % 16 + 8);
    return mixture_ == 1 || (mixture_ > 1 && bits % 2 == 1);
  }

  void visit_uop(const UopNode& uop) override {
    if (!stages_.uses(uop.stage, alloc_.stage)) return;
    if (uop.part == Part::init || !runs(uop)) return;
    const Stage& stage = stages_.stage(uop.stage);
    if (stage.name == alloc_.stage) {
      if (uop.part != Part::update) return;
      std::vector<int64_t> target;
      for (size_t d = 0; d < stage.axes.size(); ++d) target.push_back(value_of(uop.point[d]));
      check_read(stage, target, Part::init);
      return;
    }
    visit_reads(body_of(stage, uop), axes_at(stage, uop),
                [&](const Expr& read, const std::vector<int64_t>& index) {
                  if (read->name != alloc_.stage) return;
                  if (!stages_.stage(alloc_.stage).is_reduction())
                    return check_read(stage, index, Part::pure);
                  check_read(stage, index, Part::init);
                  check_read(stage, index, Part::update);
                });
  }

  void check_read(const Stage& reader, const std::vector<int64_t>& index, Part part) const {
    static const char* const kParts[] = {"value", "start value", "update"};
    auto found = written_.find(part);
    // A sum of nothing is its start value.
    if (found == written_.end() && part == Part::update) return;
    bool inside = found != written_.end();
    for (size_t d = 0; inside && d < index.size(); ++d) {
      const std::optional<IntegerRange>& range = found->second[d];
      inside = !range || alloc_.layout.fold(d) > 0 || range->contains(index[d]);
    }
    EMULSION_CHECK(inside, "nest {}: {} reads {}[{}], of which no {} is written", nest_.name,
                   reader.name, alloc_.stage, fmt::join(index, ", "),
                   kParts[static_cast<int>(part)]);
  }

  const StageUses& stages_;
  const Alloc& alloc_;
  Written written_;
  unsigned mixture_ = 0;
  unsigned depth_ = 0;  // of loops inside the alloc
};

class WrittenVerifier : public EndsVisitor {
 public:
  explicit WrittenVerifier(const LoopNest& nest) : EndsVisitor(nest), stages_(nest) {}

 private:
  void visit_alloc(const Alloc& alloc) override {
    // The first iteration of the loops around may be the last, too.
    const bool is_new = verified_.emplace(&alloc, values_).second;
    if (is_new) WrittenRegion(nest_, stages_, alloc, values_).verify();
    walk(*alloc.body);
  }

  const StageUses stages_;
  std::set<std::pair<const Alloc*, IndexValues>> verified_;
};

}  // namespace

void verify_nest_written(const LoopNest& nest) { WrittenVerifier(nest).verify(); }

}  // namespace emulsion
