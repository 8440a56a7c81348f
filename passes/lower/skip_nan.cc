#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/lower/seen_through_reads.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// How far is looked: through so many operations and reads, at so many stages that read the maximum,
// and at so many of its rows that one of them reads.
constexpr int kMostSteps = 16;
constexpr size_t kMostReaders = 32;
constexpr size_t kMostRows = 4;

// The positions of the stages that read a stage, by its name.
using Readers = std::unordered_map<std::string, std::set<size_t>>;

Readers readers_in(const WrittenNest& nest) {
  Readers readers;
  for (size_t position = 0; position < nest.stages.size(); ++position) {
    for (const std::string& buffer : buffers_read_by(nest.stages[position].stage)) {
      readers[buffer].insert(position);
    }
  }
  return readers;
}

// Whether the operation is NaN where one of its arguments is.
bool spreads_nan(const Expr& e) {
  switch (e->op) {
    case ExprOp::neg:
    case ExprOp::abs:
    case ExprOp::exp:
    case ExprOp::log:
    case ExprOp::sqrt:
    case ExprOp::tanh:
    case ExprOp::erf:
    case ExprOp::add:
    case ExprOp::sub:
    case ExprOp::mul:
    case ExprOp::div:
    case ExprOp::min:
    case ExprOp::max:
    case ExprOp::cast:
      return is_float(e->dtype);
    default:
      return false;
  }
}

// The values that a reduction combines for one of its elements: its indices, over the axes of the
// stage that reads it.
using Row = std::vector<Expr>;

bool equal_rows(const Row& a, const Row& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

bool has(const std::vector<Row>& rows, const Row& wanted) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Row& row) { return equal_rows(row, wanted); });
}

Row over_reader(const Row& row, const Stage& stage, const Expr& read) {
  Row result;
  result.reserve(row.size());
  for (const Expr& index : row) result.push_back(over_reader(index, stage, read));
  return result;
}

bool depends_on_axis(const Row& row, const std::vector<Axis>& axes) {
  bool found = false;
  for (const Expr& index : row) {
    visit(index, [&](const Expr& e) {
      found = found || (e->op == ExprOp::axis && axis_index(axes, e->name));
    });
  }
  return found;
}

// What a maximum (or minimum) that skips NaN would change. Of each stage that reads it, or what
// reads it: in which rows a NaN makes its value another than if the maximum were NaN (it differs),
// and in which a NaN makes it NaN in either case (it is lost).
class SkippedNan {
 public:
  SkippedNan(const WrittenNest& nest, const StagesByName& stages, const Readers& readers,
             const Stage& maximum)
      : nest_(nest), stages_(stages), readers_(readers), maximum_(maximum) {}

  bool is_seen_by_an_output() {
    add_readers_of(maximum_.name);
    for (size_t looked_at = 0; !pending_.empty(); ++looked_at) {
      if (looked_at == kMostReaders) return true;
      // Producers come first, so that what it reads is known.
      const WrittenStage& reader = nest_.stages[*pending_.begin()];
      pending_.erase(pending_.begin());
      if (!is_understood(reader.stage)) return true;
      if (differs_[reader.stage.name].empty()) continue;
      if (reader.is_output) return true;
      add_readers_of(reader.stage.name);
    }
    return false;
  }

 private:
  void add_readers_of(const std::string& name) {
    const auto found = readers_.find(name);
    if (found != readers_.end()) pending_.insert(found->second.begin(), found->second.end());
  }

  bool is_understood(const Stage& stage) {
    std::vector<Row>& differs = differs_[stage.name];
    if (!is_small(stage.body)) return false;
    for (Row& row : rows_read(stage)) {
      if (depends_on_axis(row, stage.reduction_axes)) return false;  // of several rows together
      const bool is_combined = stage.is_reduction() && combines_all_of(row, stage);
      if (is_combined) lost_[stage.name].push_back(row);
      if (!is_combined && !has(rows_lost(stage.body, kMostSteps), row)) {
        differs.push_back(std::move(row));
      }
    }
    return differs.size() <= kMostRows;
  }

  // Those of the maximum that what it reads depends on.
  std::vector<Row> rows_read(const Stage& stage) const {
    std::vector<Row> rows;
    const auto add = [&](Row row) {
      if (!has(rows, row)) rows.push_back(std::move(row));
    };
    visit(stage.body, [&](const Expr& e) {
      if (e->op != ExprOp::read) return;
      if (e->name == maximum_.name) add(e->args);
      const auto found = differs_.find(e->name);
      if (found == differs_.end()) return;
      for (const Row& row : found->second) {
        add(over_reader(row, *stages_.at(e->name), e));
      }
    });
    return rows;
  }

  // Those in which a NaN makes the value of an expression NaN, whatever the maximum is.
  std::vector<Row> rows_lost(const Expr& e, int steps) const {
    std::vector<Row> rows;
    const auto add = [&](const std::vector<Row>& more) {
      rows.insert(rows.end(), more.begin(), more.end());
    };
    if (steps == 0) return rows;
    if (e->op == ExprOp::read) {
      if (const auto found = lost_.find(e->name); found != lost_.end()) {
        for (const Row& row : found->second) {
          rows.push_back(over_reader(row, *stages_.at(e->name), e));
        }
      }
      if (const Expr value = value_read(stages_, e); value.defined())
        add(rows_lost(value, steps - 1));
    } else if (spreads_nan(e)) {
      for (const Expr& argument : e->args) add(rows_lost(argument, steps - 1));
    }
    return rows;
  }

  // Whether a reduction combines a value for each of the row, which is NaN where that is.
  bool combines_all_of(const Row& row, const Stage& reduction) const {
    return spreads_each_of(row, reduction, reduction.body, kMostSteps);
  }

  bool spreads_each_of(const Row& row, const Stage& reduction, const Expr& e, int steps) const {
    if (steps == 0) return false;
    StepOfReduction step(maximum_, row, domain_of(reduction));
    if (step.is(e) && step.is_each_of(reduction.reduction_axes)) return true;
    if (e->op == ExprOp::read) {
      const Expr value = value_read(stages_, e);
      return value.defined() && spreads_each_of(row, reduction, value, steps - 1);
    }
    return spreads_nan(e) && std::any_of(e->args.begin(), e->args.end(), [&](const Expr& argument) {
             return spreads_each_of(row, reduction, argument, steps - 1);
           });
  }

  const WrittenNest& nest_;
  const StagesByName& stages_;
  const Readers& readers_;
  const Stage& maximum_;
  std::set<size_t> pending_;
  std::map<std::string, std::vector<Row>> differs_, lost_;  // by stage, over its axes
};

bool is_extremum_of_floats(const Stage& stage) {
  return (stage.combiner == Combiner::max || stage.combiner == Combiner::min) &&
         is_float(stage.dtype);
}

}  // namespace

WrittenNest skip_nan(WrittenNest nest) {
  const StagesByName stages = stages_by_name(nest);
  const Readers readers = readers_in(nest);
  for (WrittenStage& written : nest.stages) {
    Stage& stage = written.stage;
    if (!is_extremum_of_floats(stage) || written.is_output) continue;
    if (SkippedNan(nest, stages, readers, stage).is_seen_by_an_output()) continue;
    stage.combiner = stage.combiner == Combiner::max ? Combiner::max_number : Combiner::min_number;
  }
  return nest;
}

}  // namespace emulsion
