// The schedule of a graph whose axes are in normal form, as one of the graph as it was written.

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/directive_table.h"
#include "dsl/fitting_name.h"
#include "dsl/schedule_axes.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/normal_axes.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

bool makes_loop_named(const Directive& d, const std::string& name) {
  if (!has_argument(d.kind, ArgumentKind::new_loop)) return false;
  return std::find(d.axes.begin(), d.axes.end(), name) != d.axes.end();
}

bool is_at_loop_of_target(const Directive& d) {
  return has_argument(d.kind, ArgumentKind::consumer_loop) || d.kind == DirectiveKind::compute_with;
}

// The axes of a stage; of one that a directive makes those of the stage before, of a copy those of
// what is copied.
struct StageAxes {
  std::set<std::string> units;    // that the normal form has not
  std::vector<std::string> sums;  // of the normal form, in its order
};

// A schedule in the words of the graph as it was written: loops may have got names that axes have
// there, and get others.
class Renamed {
 public:
  Renamed(const Schedule& made, const Graph& graph) : written_(unfuse(graph)), schedule_(graph) {
    find_axes(made);
    for (const auto& [name, stage] : made.stages()) {
      StageSchedule& copy = schedule_[name];
      for (Directive d : stage.directives()) {
        if (!is_possible(name, d)) continue;
        rename(is_at_loop_of_target(d) ? d.target : name, &d);
        copy.add(std::move(d));
      }
    }
  }

  const Schedule& schedule() const { return schedule_; }
  const StageAxes& axes(const std::string& stage) const { return axes_.at(stage); }

 private:
  using Names = std::map<std::string, std::string>;

  void find_axes(const Schedule& made) {
    for (const std::string& name : stage_order(made.graph(), made.stages())) {
      const OpPtr *op = written_.find(name), *normal = made.graph().find(name);
      if (op != nullptr && normal != nullptr) axes_[name] = axes_of(**op, **normal);
      if (op != nullptr) computed_.emplace(name, *op);
      const StageAxes axes = axes_[name];
      const StageSchedule* stage = made.find(name);
      if (stage == nullptr) continue;
      for (const Directive& d : stage->directives()) {
        const bool is_same =
            d.kind == DirectiveKind::alternative || d.kind == DirectiveKind::cache_write;
        if (is_same && computed_.count(name) > 0) computed_.emplace(d.target, computed_.at(name));
        if (makes_stage(d.kind)) {
          const OpPtr* operand = written_.find(d.operand);
          axes_[d.target] =
              operand ? axes_of_copy(**operand, **made.graph().find(d.operand)) : axes;
        }
        for (const std::string& unit : axes.units) {
          if (makes_loop_named(d, unit)) names_[name][unit] = free_loop(unit, *stage, axes.units);
        }
      }
    }
  }

  static StageAxes axes_of(const Op& written, const Op& normal) {
    StageAxes axes{axes_gone(written, normal), {}};
    for (const Axis& axis : normal.reduction_axes) axes.sums.push_back(axis.name());
    return axes;
  }

  static StageAxes axes_of_copy(const Op& written, const Op& normal) {
    StageAxes axes;
    for (const Axis& axis : copy_axes(written)) axes.units.insert(axis.name());
    for (const Axis& axis : copy_axes(normal)) axes.units.erase(axis.name());
    return axes;
  }

  static std::string free_loop(const std::string& wanted, const StageSchedule& stage,
                               const std::set<std::string>& units) {
    const std::vector<Directive>& all = stage.directives();
    return free_name(wanted, [&](const std::string& name) {
      return units.count(name) > 0 || std::any_of(all.begin(), all.end(), [&](const Directive& d) {
               return std::find(d.axes.begin(), d.axes.end(), name) != d.axes.end();
             });
    });
  }

  void rename(const std::string& stage, Directive* d) const {
    const auto names = names_.find(stage);
    if (names == names_.end()) return;
    for (std::string& axis : d->axes) {
      const auto other = names->second.find(axis);
      if (other != names->second.end()) axis = other->second;
    }
  }

  // What is stored in an output is read at its own place there, which an axis of one step may be
  // written otherwise than. What shares loops with another has their names.
  bool is_possible(const std::string& stage, const Directive& d) const {
    if (d.kind == DirectiveKind::compute_with) return names_.count(stage) == names_.count(d.target);
    if (d.kind != DirectiveKind::store_in_output) return true;
    const auto op = computed_.find(stage), output = computed_.find(d.target);
    if (op == computed_.end() || output == computed_.end() || op->second == output->second) {
      return true;
    }
    return reads_at_own_place(*op->second, *output->second);
  }

  const Graph written_;  // without groups
  Schedule schedule_;
  std::map<std::string, OpPtr> computed_;  // by stage: one that is a way to compute it, too
  std::map<std::string, StageAxes> axes_;
  std::map<std::string, Names> names_;  // loops of a stage that get another name
};

// Where loops of one step go that are not reduced.
enum class Units { kOutside, kInside };

// The loops of a stage with the sums in their order, innermost first. Those of one step are outside
// of all others, or inside, so that none comes between two loops that change places. What is
// reduced is inside: outside of what is not it would be around the places of other stages.
class NormalOrder {
 public:
  NormalOrder(const StageLoops& loops, const StageAxes& axes, Units units)
      : loops_(loops.loops()), axes_(axes), units_(units) {}

  // Nothing where the loops are in this order.
  std::vector<std::string> of_sums() {
    add(true, true);
    add(false, true);
    return order_if_changed();
  }
  std::vector<std::string> of_all() {
    add(true, true);
    if (units_ == Units::kInside) add(true, false);
    add(false, true);
    add(false, false);
    if (units_ == Units::kOutside) add(true, false);
    return order_if_changed();
  }

 private:
  void add(bool of_units, bool reduces) {
    std::vector<std::string> sums;  // whose loops are there, outermost first
    std::copy_if(axes_.sums.begin(), axes_.sums.end(), std::back_inserter(sums),
                 [&](const std::string& sum) {
                   const ScheduledLoop* const loop = find_loop(loops_, sum);
                   return loop != nullptr && loop->is_reduction;  // or rfactor made it an axis
                 });
    const std::set<std::string> names(sums.begin(), sums.end());
    auto sum = sums.rbegin();
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      const bool is_unit = axes_.units.count(loop->name) > 0;
      if (is_unit != of_units || loop->is_reduction != reduces) continue;
      order_.push_back(names.count(loop->name) > 0 ? *sum++ : loop->name);
    }
  }

  std::vector<std::string> order_if_changed() {
    std::vector<std::string> now;  // innermost first
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      if (std::count(order_.begin(), order_.end(), loop->name) > 0) now.push_back(loop->name);
    }
    return now == order_ ? std::vector<std::string>() : order_;
  }

  const std::vector<ScheduledLoop> loops_;
  const StageAxes& axes_;
  const Units units_;
  std::vector<std::string> order_;
};

// Stages that share their outermost loops with others, which need not have these.
std::set<std::string> sharing(const Schedule& schedule) {
  std::set<std::string> names;
  for (const auto& [name, stage] : schedule.stages()) {
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::compute_with) names.insert({name, d.target});
    }
  }
  return names;
}

// Directives of a stage as they are added, and the loops that it has then.
class StageWriter {
 public:
  StageWriter(std::string name, const Graph& graph, LoopsOfStages* loops)
      : name_(std::move(name)), graph_(graph), loops_(*loops) {}

  void add(Directive d) {
    apply_to_loops(name_, d, graph_, &loops_);
    stage_.add(std::move(d));
  }
  void reorder(const std::vector<std::string>& innermost_first) {
    if (innermost_first.empty()) return;
    StageSchedule order;
    order.reorder({innermost_first.begin(), innermost_first.end()});
    add(order.directives().front());
  }

  const StageLoops& loops() const { return loops_.at(name_); }
  StageSchedule take() { return std::move(stage_); }

 private:
  const std::string name_;
  const Graph& graph_;
  LoopsOfStages& loops_;
  StageSchedule stage_;
};

// The directives of a stage, behind the order of its loops. Stages are made first: before one that
// rfactor makes, loops that are reduced may be put in order, and no others.
void write_stage(const StageSchedule& stage, const StageAxes& axes, Units units,
                 StageWriter* writer) {
  const std::vector<Directive>& all = stage.directives();
  const auto has_scope = [](DirectiveScope scope) {
    return [scope](const Directive& d) { return form_of(d.kind).scope == scope; };
  };
  const auto stages = std::find_if(all.rbegin(), all.rend(), has_scope(DirectiveScope::stage));
  // What has conditions has that order in each of its cases.
  auto loops = std::find_if(stages.base(), all.end(), [&](const Directive& d) {
    return d.kind == DirectiveKind::specialize || has_scope(DirectiveScope::loop)(d);
  });
  const auto first = std::find_if(all.begin(), all.end(), has_scope(DirectiveScope::loop));
  // Fuses of axes that are stored come first of all (merge_fused_axes).
  const auto fuses_sums = [&](const Directive& d) {
    const auto is_sum = [&](const std::string& axis) {
      return std::find(axes.sums.begin(), axes.sums.end(), axis) != axes.sums.end();
    };
    return std::any_of(d.axes.begin(), d.axes.end(), is_sum);
  };
  while (loops != all.end() && loops->kind == DirectiveKind::fuse && !fuses_sums(*loops)) ++loops;
  for (auto d = all.begin(); d != all.end(); ++d) {
    NormalOrder order(writer->loops(), axes, units);
    if (d == loops) {
      writer->reorder(order.of_all());
    } else if (d == first && (d->kind != DirectiveKind::fuse || fuses_sums(*d))) {
      writer->reorder(order.of_sums());
    }
    Directive copy = *d;
    if (d->kind == DirectiveKind::reorder_storage) {
      for (const std::string& axis : writer->loops().pure()) {
        if (axes.units.count(axis) > 0) copy.axes.push_back(axis);
      }
    }
    writer->add(std::move(copy));
  }
}

}  // namespace

Schedule schedule_as_written(const Schedule& made, const Graph& graph) {
  const Renamed renamed(made, graph);
  Schedule schedule(graph);
  LoopsOfStages loops = initial_loops(graph);
  const std::set<std::string> share = sharing(renamed.schedule());
  for (const std::string& name : stage_order(graph, renamed.schedule().stages())) {
    StageWriter writer(name, graph, &loops);
    const Units units = share.count(name) > 0 ? Units::kInside : Units::kOutside;
    write_stage(*renamed.schedule().find(name), renamed.axes(name), units, &writer);
    schedule[name] = writer.take();
  }
  return schedule;
}

}  // namespace emulsion
