// store_in_output: whether the memory of an output may hold the values of a stage until the output
// is computed. It may where each element of the stage that is there is one that the output then
// computes in the same iteration, once, from that element alone, and nothing reads it any more.

#include <algorithm>

#include "dsl/affine.h"
#include "dsl/directive_table.h"
#include "dsl/error.h"
#include "passes/index/simplify_index.h"
#include "passes/lower/alternatives.h"
#include "passes/lower/stage_storage.h"

namespace emulsion {
namespace {

using Covered = Coverage::Kind;

class OutputChecker {
 public:
  OutputChecker(const NestPlan& nest, const std::vector<StageRegion>& regions,
                const std::vector<StageStorage>& storage,
                const std::map<StageId, PartOfCases>& parts, StageId id)
      : nest_(nest),
        parts_(parts),
        region_(regions[id]),
        output_region_(regions[*nest.stages[id].in_output]),
        storage_(storage[id]),
        id_(id),
        plan_(nest.stages[id]),
        output_(nest.stages[*nest.stages[id].in_output]),
        directive_(plan_.source_directive(DirectiveKind::store_in_output)) {}

  void check() const {
    check_values();
    check_memory();
    check_own_reader();
    check_place();
    check_other_readers();
    check_points();
    check_parts();
  }

 private:
  [[noreturn]] void refuse_here(const std::string& message) const {
    refuse(plan_.stage.name, directive_, message);
  }

  const std::string& name() const { return plan_.stage.name; }
  const std::string& output() const { return output_.stage.name; }

  void check_values() const {
    const Stage &mine = plan_.stage, &other = output_.stage;
    const bool same_axes =
        std::equal(mine.axes.begin(), mine.axes.end(), other.axes.begin(), other.axes.end(),
                   [](const Axis& a, const Axis& b) { return a.extent() == b.extent(); });
    if (mine.dtype != other.dtype || !same_axes) {
      refuse_here(
          fmt::format("expected an output of the type and the shape of {}, {}{}, got {}, "
                      "{}{}; legal: storage of its own",
                      name(), to_string(mine.dtype), to_string(shape_of(mine)), output(),
                      to_string(other.dtype), to_string(shape_of(other))));
    }
    if (other.is_reduction()) {
      refuse_here(
          fmt::format("expected an output that is no reduction, got {}, which starts from "
                      "a value of its own; legal: storage of its own",
                      output()));
    }
  }

  static Shape shape_of(const Stage& stage) {
    Shape shape;
    for (const Axis& axis : stage.axes) shape.push_back(axis.extent());
    return shape;
  }

  // One that says itself where, or how, its values are kept, and one that something else is in.
  void check_memory() const {
    for (const Directive& d : plan_.directives) {
      const DirectiveScope scope = form_of(d.kind).scope;
      const bool is_about_storage =
          scope == DirectiveScope::store || scope == DirectiveScope::layout;
      if (!is_about_storage || d.kind == directive_.kind) continue;
      refuse_here(fmt::format("expected an operation without {0}, got both; legal: either",
                              to_string(d.kind)));
    }
    for (StageId earlier = 0; earlier < id_; ++earlier) {
      if (nest_.stages[earlier].in_output != plan_.in_output || are_apart(earlier)) continue;
      refuse_here(
          fmt::format("expected an output that holds nothing else, got {}, where {} is "
                      "stored; legal: storage of its own",
                      output(), nest_.name_of(earlier)));
    }
    if (output_.compute_with || !output_.sharing.empty()) {
      refuse_here(
          fmt::format("expected an output with loops of its own, got {}, which shares them "
                      "by compute_with; legal: storage of its own",
                      output()));
    }
  }

  // Whether there is only the one or the other, by the case of the output.
  bool are_apart(StageId other) const {
    const auto mine = parts_.find(id_), theirs = parts_.find(other);
    if (mine == parts_.end() || theirs == parts_.end()) return false;
    const PartOfCases &part = mine->second, &other_part = theirs->second;
    if (part.reader != *plan_.in_output || other_part.reader != part.reader) return false;
    return std::none_of(part.cases.begin(), part.cases.end(),
                        [&](size_t number) { return other_part.cases.count(number) > 0; });
  }

  // The output may read an element where it overwrites it, and nowhere else.
  void check_own_reader() const {
    for (const Expr& read : reads_of(output_.stage, name())) {
      for (size_t d = 0; d < read->args.size(); ++d) {
        const std::optional<Affine> index = affine_of(read->args[d]);
        const std::string& own = output_.stage.axes[d].name();
        const bool is_own = index && index->offset == Extent(0) &&
                            index->coefficients == std::map<std::string, int64_t>{{own, 1}};
        if (is_own) continue;
        refuse_here(
            fmt::format("expected {0} to read {1} at its own index, {1}[{2}], got {3}; "
                        "legal: storage of its own",
                        output(), name(), joined(axis_names(output_.stage.axes)), to_string(read)));
      }
    }
  }

  // The output is computed in no loops but its own; one that is in the memory of another is there
  // only where it is stored.
  void check_place() const {
    if (!plan_.compute_at && output_.in_output && output_.compute_at) {
      refuse_here(
          fmt::format("expected {0} to be computed where {1} is stored, inside {2}, got the "
                      "root; legal: compute_at a loop of {1}, or storage of its own",
                      name(), output(), nest_.variable(*output_.compute_at)));
    }
    if (!plan_.compute_at || plan_.compute_at->stage == *plan_.in_output) return;
    refuse_here(
        fmt::format("expected {0} to be computed at a loop of {1}, or at the root, got {2}; legal: "
                    "compute_at a loop of {1}, or compute_root()",
                    name(), output(), nest_.variable(*plan_.compute_at)));
  }

  // All others are to be done when the loops of the output begin inside the place of the stage.
  void check_other_readers() const {
    for (StageId reader : plan_.readers) {
      if (reader == *plan_.in_output || comes_before_output(reader)) continue;
      refuse_here(
          fmt::format("expected {} to be read before {} is computed, got {}, which reads "
                      "it later; legal: storage of its own",
                      name(), output(), nest_.name_of(reader)));
    }
  }

  bool comes_before_output(StageId reader) const {
    StageId at = reader;
    while (!(nest_.stages[at].compute_at == plan_.compute_at)) {
      if (!nest_.stages[at].compute_at) return false;
      if (nest_.stages[at].compute_at->stage == *plan_.in_output) return false;
      at = nest_.stages[at].compute_at->stage;
    }
    if (plan_.compute_at) return true;  // what is computed at a loop comes before what is inside it
    const bool shares = nest_.stages[at].compute_with || !nest_.stages[at].sharing.empty();
    return at < *plan_.in_output && !shares;
  }

  void check_points() const {
    std::vector<Stage> cases = {output_region_.stage};
    for (size_t i = 0; i < output_region_.stage.specializations.size(); ++i) {
      cases.push_back(specialized(output_region_.stage, i));
    }
    for (const Stage& one : cases) {
      for (const LoopTransform& t : one.transforms) {
        const bool again = t.tail == Tail::shift_inwards || t.tail == Tail::predicate_stores;
        if (t.kind != LoopTransform::Kind::split || !again) continue;
        refuse_here(
            fmt::format("expected an output that reads each element of {} once, got {}.{}, "
                        "whose last tile reads some again; legal: guard or predicate",
                        name(), output(), to_string(output_.source_directive(t))));
      }
    }
  }

  // What is there of the stage has to be what the output computes inside the same loops.
  void check_parts() const {
    const size_t around = plan_.compute_at ? plan_.compute_at->loop + 1 : 0;
    const std::string place =
        plan_.compute_at ? "inside " + nest_.variable(*plan_.compute_at) : "in all";
    for (const StageCase& one : cases_of(output_, output_region_)) {
      const std::map<std::string, Coverage> covered = coverage_of(one, around);
      for (size_t d = 0; d < output_.stage.axes.size(); ++d) {
        const Axis& axis = output_.stage.axes[d];
        const Coverage& part = covered.at(axis.name());
        if (part.kind == Covered::scattered) {
          refuse_here(
              fmt::format("expected {} to compute a whole tile of {} {}, got indices that "
                          "are not next to each other; legal: the inner loop of each split "
                          "inside, and no fused loop of which a part is inside",
                          output(), axis.name(), place));
        }
        const Expr size =
            part.kind == Covered::all ? extent_value(axis.extent()) : int_constant(part.size);
        if (!equal(simplify_index(size), simplify_index(storage_.extents[d]))) {
          refuse_here(
              fmt::format("expected the part of {} that is needed {} to be the one that {} "
                          "computes there, {} of {}, got {}; legal: a loop around it",
                          name(), place, output(), to_string(size), axis.name(),
                          to_string(storage_.extents[d])));
        }
        check_ends(region_.axes[d], axis, is_tile_of(axis, one.stage, part), place);
      }
    }
  }

  // Whether a step of the loops around the place is a tile of the axis itself, not of a part of it:
  // that ends inside the domain, where another step computes what is behind it.
  static bool is_tile_of(const Axis& axis, const Stage& stage, const Coverage& part) {
    // Loops may have the name of the axis that they are made of.
    const auto made = std::find_if(stage.transforms.begin(), stage.transforms.end(),
                                   [&](const auto& t) { return t.axis == axis.name(); });
    return made != stage.transforms.end() && made->kind == LoopTransform::Kind::split &&
           part.kind == Covered::tile && part.size == made->factor;
  }

  // A tile of constant size may reach past the domain: of what is there nothing is computed. All
  // tiles are to start where the output has memory.
  void check_ends(const AxisRegion& region, const Axis& axis, bool is_tile,
                  const std::string& place) const {
    if (region.is_whole) return;
    const int64_t size = std::max<int64_t>(constant_value(region.needed_extent).value_or(1), 1);
    if (region.lowest && region.highest) {
      const Extent last_start = *region.highest - Extent(size - 1);
      const Extent last = axis.extent() - Extent(1);
      const bool ends_inside = never_negative(last - *region.highest);
      const bool starts_inside = never_negative(last - last_start);
      if (never_negative(*region.lowest) && (ends_inside || (is_tile && starts_inside))) return;
    }
    refuse_here(
        fmt::format("expected tiles of {} {} that {}, got ones that may not; legal: a factor that "
                    "divides {}, or one index at a time",
                    output(), place,
                    is_tile ? "start inside " + axis.name() : "end where a step around them does",
                    axis.extent().to_string()));
  }

  const NestPlan& nest_;
  const std::map<StageId, PartOfCases>& parts_;
  const StageRegion &region_, &output_region_;
  const StageStorage& storage_;
  const StageId id_;
  const ScheduledStage &plan_, &output_;
  const Directive directive_;
};

}  // namespace

void check_outputs(const NestPlan& nest, const std::vector<StageRegion>& regions,
                   const std::vector<StageStorage>& storage) {
  const std::map<StageId, PartOfCases> parts = parts_of_cases(nest);
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    if (nest.stages[id].in_output) OutputChecker(nest, regions, storage, parts, id).check();
  }
}

}  // namespace emulsion
