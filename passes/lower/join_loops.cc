// compute_with of an operation and of what it reads: each step of the loops that they share
// computes first what the producer has there, then the reader. Others may read the producer once
// these loops are done, so that it is stored where it always was.
//
//   alloc a:                          alloc a:
//     for a.m: a[m] = ...               for b.m:
//     for b.m: b[m] = ... a[m] ...  ->    for a.m in b.m .. +1: a[m] = ...
//     rest                                b[m] = ... a[m] ...
//                                       rest

#include "passes/lower/join_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dsl/error.h"
#include "passes/index/collect_terms.h"
#include "passes/index/index_interval.h"
#include "passes/index/relax_clamps.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/refusal.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

[[noreturn]] void refuse_join(const NestPlan& nest, StageId reader, const std::string& message) {
  const ScheduledStage& plan = nest.stages[reader];
  refuse(plan.stage.name, plan.source_directive(DirectiveKind::compute_with), message);
}

// What both stages are asked, whatever their regions are.
void check_join(const NestPlan& nest, StageId id) {
  const ScheduledStage& reader = nest.stages[id];
  const auto& [producer_id, last] = *reader.joins;
  const ScheduledStage& producer = nest.stages[producer_id];
  const std::string& name = producer.stage.name;
  const auto refuse_here = [&](const std::string& message) { refuse_join(nest, id, message); };
  if (producer.stage.is_reduction()) {
    refuse_here(fmt::format(
        "expected what it reads to be no reduction, got {}; legal: {}.compute_at", name, name));
  }
  for (const ScheduledStage* plan : {&reader, &producer}) {
    if (plan->specialized_loops.empty()) continue;
    refuse_here(
        fmt::format("expected an operation and what it reads without specialize, got {}; "
                    "legal: loops of its own",
                    plan->stage.name));
  }
  if (producer.outlives_compute_loop()) {
    refuse_here(
        fmt::format("expected what it reads to be stored where it is computed, got {}, "
                    "which is kept; legal: loops of its own",
                    name));
  }
  if (producer.joins || producer.compute_with || !producer.sharing.empty() ||
      !reader.sharing.empty()) {
    refuse_here(
        fmt::format("expected loops that no third operation shares, got those of {} and {}; "
                    "legal: loops of its own",
                    reader.stage.name, name));
  }
  for (StageId other = 0; other < id; ++other) {
    if (!nest.stages[other].joins || nest.stages[other].joins->stage != producer_id) continue;
    refuse_here(
        fmt::format("expected one reader of {} in its loops, got {} and {}; legal: loops of "
                    "its own",
                    name, nest.name_of(other), reader.stage.name));
  }
  if (producer.in_output == id) {
    refuse_here(
        fmt::format("expected a reader that {0} is not stored in, got {1}; legal: {0} in "
                    "storage of its own",
                    name, reader.stage.name));
  }
  for (StageId read : producer.producers) {
    if (!nest.stages[read].in_output) continue;
    refuse_here(
        fmt::format("expected {} to read nothing that is stored in an output, got {}; "
                    "legal: loops of its own",
                    name, nest.name_of(read)));
  }
  for (size_t i = 0; i <= last; ++i) {
    for (const ScheduledStage* plan : {&reader, &producer}) {
      const ScheduledLoop& loop = plan->loops[i];
      if (loop.kind != LoopKind::serial) {
        refuse_here(
            fmt::format("expected serial loops of both, got {} of {}; legal: loops of its "
                        "own",
                        loop.name, plan->stage.name));
      }
    }
    if (producer.loops[i].partition) {
      refuse_here(
          fmt::format("expected loops of {0} that are not partitioned, got {1}; legal: "
                      "{2}.partition({1})",
                      name, producer.loops[i].name, reader.stage.name));
    }
    for (const Directive& d : producer.prefetches) {
      if (d.axes[0] != producer.loops[i].name) continue;
      refuse_here(
          fmt::format("expected loops of {} that fetch nothing ahead, got {}.{}; legal: a "
                      "loop inside {}",
                      name, name, to_string(d), producer.loops[last].name));
    }
  }
}

// Joins the loops of one reader and what it reads.
class Joiner : public NestMutator {
 public:
  Joiner(const NestPlan& nest, const std::vector<StageRegion>& regions, StageId reader)
      : nest_(nest),
        regions_(regions),
        reader_(reader),
        producer_(nest.stages[reader].joins->stage),
        last_(nest.stages[reader].joins->loop) {}

  NodePtr run(const NodePtr& root) {
    NodePtr joined = mutate(root);
    EMULSION_CHECK(joined != root, "no loops of {} to join", nest_.name_of(producer_));
    return joined;
  }

 private:
  using Ranges = std::map<std::string, Range>;

  const std::string& reader() const { return nest_.name_of(reader_); }
  const std::string& producer() const { return nest_.name_of(producer_); }
  [[noreturn]] void refuse_here(const std::string& message) const {
    refuse_join(nest_, reader_, message + "; legal: loops of its own");
  }
  std::string own_variable(size_t i) const { return nest_.variable({reader_, i}); }

  // The position of a loop among those that are to be shared.
  std::optional<size_t> shared_position(const Loop& loop, StageId stage) const {
    if (loop.stage != nest_.name_of(stage) || loop.part == Part::init) return std::nullopt;
    const std::optional<size_t> position = position_of(nest_.stages[stage].loops, loop.axis);
    return position && *position <= last_ ? position : std::nullopt;
  }

  // The place of both: several times where a stage around it has several cases.
  NodePtr mutate_block(const NodePtr& node, const Block& block) override {
    for (size_t i = 0; i < block.children.size(); ++i) {
      const Loop* loop = block.children[i]->as<Loop>();
      if (loop == nullptr || loop->stage != producer()) continue;
      is_done_ = false;
      ranges_.clear();
      take_loops(*loop);
      Block made;
      const auto first = block.children.begin() + static_cast<std::ptrdiff_t>(i);
      made.children.assign(block.children.begin(), first);
      for (NodePtr& behind : entered(std::vector<NodePtr>(first + 1, block.children.end()))) {
        made.children.push_back(std::move(behind));
      }
      EMULSION_CHECK(is_done_, "{} is not computed behind {}", reader(), producer());
      return made.children.size() == 1 ? made.children.front() : make_node(std::move(made));
    }
    return NestMutator::mutate_block(node, block);
  }

  // The loops of the producer, and what is inside the last one that is shared.
  void take_loops(const Loop& outermost) {
    const Loop* loop = &outermost;
    taken_.clear();
    for (size_t i = 0;; ++i) {
      taken_.push_back(*loop);
      if (i == last_) break;
      const Loop* inner = loop->body->as<Loop>();
      if (inner == nullptr) {
        refuse_here(
            fmt::format("expected nothing between loops {} and {} of {}, got what is "
                        "computed there",
                        loop->axis, nest_.stages[producer_].loops[i + 1].name, producer()));
      }
      loop = inner;
    }
  }

  // A stage inside that reads the producer; null where there is none.
  const Stage* reader_in(const Node& node) const {
    const Node* found = find_node(node, [&](const Node& inside) {
      const UopNode* uop = inside.as<UopNode>();
      return uop != nullptr && uop->part != Part::init && reads(stage_of(*uop).body, producer());
    });
    return found == nullptr ? nullptr : &stage_of(*found->as<UopNode>());
  }
  const Stage& stage_of(const UopNode& uop) const {
    return regions_[nest_.find(uop.stage).value()].stage;
  }
  bool holds_loops(const Node& node) const {
    return any_node(node, [&](const Node& inside) {
      const Loop* loop = inside.as<Loop>();
      return loop != nullptr && shared_position(*loop, reader_) == last_;
    });
  }

  // What comes behind the producer, up to the loops of the reader and with these. Inside of the
  // reader's loops nothing stands behind the next one of them: what is computed there is for it.
  std::vector<NodePtr> entered(std::vector<NodePtr> nodes) {
    for (NodePtr& node : nodes) {
      if (!is_done_ && holds_loops(*node)) {
        node = descend(node);
        continue;
      }
      const Stage* other = is_done_ ? nullptr : reader_in(*node);
      if (other == nullptr) continue;
      refuse_here(
          fmt::format("expected {} to be the first that reads {}, and alone in its loops, got "
                      "{} there",
                      reader(), producer(), other->name));
    }
    return nodes;
  }

  NodePtr descend(const NodePtr& node) {
    if (const Block* block = node->as<Block>()) return make_node(Block{entered(block->children)});
    if (const Alloc* alloc = node->as<Alloc>()) return with_body(*alloc);
    if (const HoistedAlloc* alloc = node->as<HoistedAlloc>()) return with_body(*alloc);
    const WindowNode* window = node->as<WindowNode>();
    if (window != nullptr && window->is_whole) return with_body(*window);
    const Loop* loop = node->as<Loop>();
    if (loop == nullptr) {
      refuse_here(
          fmt::format("expected {} to be computed once behind {}, got a window or a case "
                      "around it",
                      reader(), producer()));
    }
    const std::optional<size_t> position = shared_position(*loop, reader_);
    if (!position && constant_value(loop->extent) != 1) {
      refuse_here(
          fmt::format("expected {} to be computed once behind {}, got the loop {} around it",
                      reader(), producer(), loop->variable()));
    }
    if (position) check_extents(taken_[*position], *loop);
    if (position == last_) return with_producer(*loop);
    if (!position) ranges_.insert_or_assign(loop->variable(), range_below(loop->extent));
    return with_body(*loop);
  }

  template <typename Kind>
  NodePtr with_body(const Kind& kind) {
    Kind made = kind;
    made.body = descend(kind.body);
    return make_node(std::move(made));
  }

  void check_extents(const Loop& theirs, const Loop& mine) const {
    if (equal(theirs.extent, mine.extent)) return;
    refuse_here(fmt::format("expected loops of the same extent, got {} of {} in {} and in {}",
                            mine.axis, producer(), to_string(theirs.extent),
                            to_string(mine.extent)));
  }

  // The innermost of the loops that are shared: the step of the producer, then what was there.
  NodePtr with_producer(const Loop& loop) {
    NodePtr step = change_expressions(taken_.back().body, [&](const Expr& e) {
      return substitute_axes(e, [&](const std::string& name) {
        for (size_t i = 0; i < taken_.size(); ++i) {
          if (name == taken_[i].variable()) return axis_value(own_variable(i));
        }
        return Expr();
      });
    });
    check_order(*step, *loop.body);
    for (size_t i = taken_.size(); i-- > 0;) {
      Loop one = taken_[i];
      one.min = axis_value(own_variable(i));
      one.extent = int_constant(1);
      one.body = std::move(step);
      step = make_node(std::move(one));
    }
    is_done_ = true;
    Loop made = loop;
    made.body = make_node(Block{{std::move(step), loop.body}});
    return make_node(std::move(made));
  }

  // All that a step of the reader, or what is computed there for it, reads of the producer is what
  // the same step of the producer computes, or a step before.
  void check_order(const Node& step, const Node& body) {
    for (const Node* node : {&step, &body}) {  // no index names a loop that was joined before
      for (const Loop* loop : loops_in(*node)) {
        ranges_.insert_or_assign(loop->variable(), range_below(loop->extent));
      }
    }
    std::vector<std::optional<Interval>> computed;
    for_each_node(step, [&](const Node& inside) {
      const UopNode* uop = inside.as<UopNode>();
      if (uop == nullptr || uop->stage != producer()) return;
      for (const Expr& index : uop->point) {
        check_that_all_is_computed(step, index);
        std::optional<Interval> all = interval_in_step(index);
        for (const Guard& guard : uop->guards) {
          if (all && is_of_step(index) && !cut_off(index, guard.condition, &*all)) all.reset();
        }
        computed.push_back(std::move(all));
      }
    });
    const std::optional<size_t> forward = axis_that_goes_forward(computed);
    for_each_node(body, [&](const Node& inside) {
      const UopNode* uop = inside.as<UopNode>();
      if (uop == nullptr || uop->part == Part::init) return;
      const Stage& stage = stage_of(*uop);
      const std::map<std::string, Expr> point = point_of(stage, *uop);
      for (const Expr& read : reads_of(stage, producer())) {
        for (size_t d = 0; d < computed.size(); ++d) {
          // What a reader computes beyond its domain does not matter.
          for (const Expr& part : relax_clamps(read->args[d], domain_of(stage))) {
            const Expr index =
                substitute_axes(part, [&](const std::string& axis) { return point.at(axis); });
            std::optional<Interval> all = interval_in_step(index);
            for (const Guard& guard : uop->guards) {
              if (all) cut_off(index, guard.condition, &*all);
            }
            if (is_computed(all, computed[d], forward == d)) continue;
            refuse_here(
                fmt::format("expected each step of {} to read what {} has computed by then, got {}",
                            nest_.variable({reader_, last_}), producer(), to_string(read)));
          }
        }
      }
    });
  }

  static std::vector<const Loop*> loops_in(const Node& node) {
    std::vector<const Loop*> loops;
    for_each_node(node, [&](const Node& inside) {
      if (const Loop* loop = inside.as<Loop>()) loops.push_back(loop);
    });
    return loops;
  }

  // A step of the producer computes all from its first index to its last one: each of its loops
  // moves the index by no more than what those that move it by less have covered.
  void check_that_all_is_computed(const Node& step, const Expr& index) const {
    std::multimap<int64_t, Range> moves;  // by how much a step of a loop moves the index: its range
    bool is_known = true;
    for (const Loop* loop : loops_in(step)) {
      if (!mentions(index, loop->variable())) continue;
      const Range& range = ranges_.at(loop->variable());
      if (range.is_known && range.high == Extent(0)) continue;
      const auto moved = interval_of(simplify_index(index), [&](const std::string& variable) {
        return variable == loop->variable() ? std::optional(Range{0, 1}) : std::nullopt;
      });
      const auto by = moved ? (moved->high - moved->low).as_constant() : std::nullopt;
      is_known = is_known && range.is_known && by;
      if (is_known) moves.emplace(*by, range);
    }
    Extent covered = 1;
    for (const auto& [by, range] : moves) {
      is_known = is_known && by > 0 && never_negative(covered - Extent(by));
      // What only a quotient says goes as far as anything does.
      covered = range.divisor > 1 ? Extent(int64_t{1} << 32) : covered + range.high * by;
    }
    if (is_known) return;
    refuse_here(
        fmt::format("expected steps of {} that compute all from their first index to the last, got "
                    "those of {} at {}",
                    producer(), nest_.variable({producer_, last_}), to_string(index)));
  }

  std::optional<Interval> interval_in_step(const Expr& index) const {
    return interval_of(
        simplify_index(index), [&](const std::string& variable) -> std::optional<Range> {
          const auto found = ranges_.find(variable);
          return found == ranges_.end() ? std::nullopt : std::optional(found->second);
        });
  }

  // Of 6 elements in vectors of 4, o * 6 + v * 4 + w where v * 4 + w < 6, a step has 6 and not 8. A
  // condition on the whole axis, or on another one, cuts nothing off. False: nobody knows how much.
  bool cut_off(const Expr& index, const Expr& condition, Interval* all) const {
    const Expr &part = condition->args[0], &end = condition->args[1];
    if (!any_part(part, [&](const Expr& e) {
          return e->op == ExprOp::axis && mentions(index, e->name);
        })) {
      return true;
    }
    const Expr rest = collect_terms(index - part);
    if (!is_of_step(rest) && !moves_in_step(rest)) return true;
    const std::optional<Interval> start = interval_in_step(rest);
    const std::optional<Extent> length = as_extent(end);
    if (!start || !length || start->low != start->high || !same_start(*start, *all)) return false;
    const Extent last = start->high + *length - Extent(1);
    if (never_negative(all->high - last)) all->high = last;
    return true;
  }

  bool moves_in_step(const Expr& index) const {
    return any_part(
        index, [&](const Expr& e) { return e->op == ExprOp::axis && ranges_.count(e->name) > 0; });
  }

  // Whether it says which step it is.
  bool is_of_step(const Expr& index) const {
    for (size_t i = 0; i <= last_; ++i) {
      if (mentions(index, own_variable(i))) return true;
    }
    return false;
  }

  static bool same_start(const Interval& a, const Interval& b) {
    return std::equal(a.fixed.begin(), a.fixed.end(), b.fixed.begin(), b.fixed.end(),
                      [](const auto& x, const auto& y) {
                        return x.first == y.first && x.second.second == y.second.second;
                      });
  }

  // The axis of the producer along which each step goes on where the one before ended, so that by
  // then everything before it is there too. Nothing where several loops take steps.
  std::optional<size_t> axis_that_goes_forward(
      const std::vector<std::optional<Interval>>& computed) const {
    std::optional<size_t> loop;
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (constant_value(taken_[i].extent) == 1) continue;
      if (loop) return std::nullopt;
      loop = i;
    }
    if (!loop) return std::nullopt;
    const std::string variable = own_variable(*loop);
    std::optional<size_t> axis;
    for (size_t d = 0; d < computed.size(); ++d) {
      if (!computed[d]) return std::nullopt;
      const Extent length = computed[d]->high - computed[d]->low + Extent(1);
      for (const auto& [text, term] : computed[d]->fixed) {
        if (!mentions(term.first, variable)) continue;
        if (axis || term.first->op != ExprOp::axis || length != Extent(term.second)) {
          return std::nullopt;
        }
        axis = d;
      }
    }
    return axis;
  }

  // `or_before`: whatever is before the interval is there too.
  static bool is_computed(const std::optional<Interval>& read,
                          const std::optional<Interval>& computed, bool or_before) {
    if (!read || !computed || !same_start(*read, *computed)) return false;
    return (or_before || never_negative(read->low - computed->low)) &&
           never_negative(computed->high - read->high);
  }

  const NestPlan& nest_;
  const std::vector<StageRegion>& regions_;
  const StageId reader_, producer_;
  const size_t last_;        // the innermost loop that is shared: its position in both
  std::vector<Loop> taken_;  // the producer's loops up to there
  Ranges ranges_;            // of the loops inside a step
  bool is_done_ = false;
};

}  // namespace

void check_joins(const NestPlan& nest) {
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    if (nest.stages[id].joins) check_join(nest, id);
  }
}

NodePtr join_loops(NodePtr root, const NestPlan& nest, const std::vector<StageRegion>& regions) {
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    if (nest.stages[id].joins) root = Joiner(nest, regions, id).run(root);
  }
  return root;
}

}  // namespace emulsion
