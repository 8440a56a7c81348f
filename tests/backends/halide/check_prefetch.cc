#include <algorithm>
#include <limits>
#include <set>

#include "passes/index/index_table.h"
#include "passes/nest/visit_nest.h"
#include "tests/backends/halide/check_accesses.h"
#include "tests/backends/halide/evaluate_halide.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

constexpr int64_t kMostSteps = 20000;  // of the loops inside, and of the addresses
constexpr int64_t kLineBytes = 64;

// Along each axis, both ends of it; of a single value there is no axis.
struct Box {
  std::vector<int64_t> low, high;
  bool empty = true;

  void include(const std::vector<int64_t>& index) {
    if (empty) low = high = index;
    empty = false;
    for (size_t d = 0; d < index.size(); ++d) {
      low[d] = std::min(low[d], index[d]);
      high[d] = std::max(high[d], index[d]);
    }
  }
};

// What is read of the buffer in one step of the prefetch's loop: all steps of the loops inside.
class StepReads final : public NestVisitor {
 public:
  StepReads(const LoopNest& nest, const Loop& loop, const std::string& buffer,
            std::map<std::string, int64_t> variables)
      : nest_(nest), buffer_(buffer), variables_(std::move(variables)) {
    walk(*loop.body);
  }

  Box guarded;        // by uOps that run
  Box unguarded;      // also by those past an end, and at the ends of loops without a step
  bool exact = true;  // whether the indices grow with every loop, so that the ends are those of all

 private:
  void visit_branch(const Branch& branch) override { walk(*chosen_side(branch, variables_)); }

  void visit_uop(const UopNode& uop) override {
    if (!uop.point.empty() && uop.part != Part::init) include(uop);
  }

  void visit_loop(const Loop& loop) override {
    const std::string variable = loop.variable();
    const int64_t min = evaluate_index(loop.min, variables_);
    const int64_t extent = evaluate_index(loop.extent, variables_);
    if (extent <= 0) {
      ++without_steps_;
      for (const int64_t end : {min, min - 1}) {
        variables_[variable] = end;
        walk(*loop.body);
      }
      --without_steps_;
      variables_.erase(variable);
      return;
    }
    // Of many, the ends.
    const bool all = steps_ * extent <= kMostSteps;
    const int64_t stride = all ? 1 : std::max<int64_t>(1, extent - 1);
    steps_ *= std::max<int64_t>(1, all ? extent : 2);
    for (int64_t step = 0; step < extent; step += stride) {
      variables_[variable] = min + step;
      walk(*loop.body);
    }
    steps_ /= std::max<int64_t>(1, all ? extent : 2);
    variables_.erase(variable);
  }

  void include(const UopNode& uop) {
    const bool guarded_in = std::all_of(
        uop.guards.begin(), uop.guards.end(),
        [&](const Guard& guard) { return evaluate_index(guard.condition, variables_) != 0; });
    const bool runs = without_steps_ == 0 && guarded_in;
    for (const Expr& index : uop.point) exact = exact && is_affine(index);
    const std::map<std::string, int64_t> axes = axis_values(nest_, uop, variables_);
    visit(body_of(nest_.stage(uop.stage), uop), [&](const Expr& e) {
      if (e->op != ExprOp::read || e->name != buffer_) return;
      std::vector<int64_t> low, high;
      for (const Expr& index : e->args) {
        const bool known = is_index(index);
        exact = exact && (!known || is_affine(index));
        low.push_back(known ? evaluate_index(index, axes) : std::numeric_limits<int32_t>::min());
        high.push_back(known ? low.back() : std::numeric_limits<int32_t>::max());
      }
      for (const auto& corner : {low, high}) {
        unguarded.include(corner);
        if (runs) guarded.include(corner);
      }
    });
  }

  static bool is_affine(const Expr& index) {
    bool affine = true;
    visit(index, [&](const Expr& e) {
      const bool product = e->op == ExprOp::mul && (e->args[0]->op == ExprOp::constant ||
                                                    e->args[1]->op == ExprOp::constant);
      affine = affine && (product || e->op == ExprOp::constant || e->op == ExprOp::axis ||
                          e->op == ExprOp::size || e->op == ExprOp::add || e->op == ExprOp::sub ||
                          e->op == ExprOp::neg);
    });
    return affine;
  }

  const LoopNest& nest_;
  const std::string& buffer_;
  std::map<std::string, int64_t> variables_;
  int64_t steps_ = 1;
  int without_steps_ = 0;  // loops around
};

// The part of a box that is in memory: of what is folded, all.
Box in_memory(Box box, const Region& region) {
  for (size_t d = 0; d < box.low.size(); ++d) {
    const int64_t low = region.folded(d) ? 0 : region.mins[d];
    const int64_t high = low + region.extents[d] - 1;
    box.low[d] = region.folded(d) ? low : std::clamp(box.low[d], low, high);
    box.high[d] = region.folded(d) ? high : std::clamp(box.high[d], low, high);
  }
  return box;
}

void add_offsets(const Box& box, const Region& region, std::vector<int64_t>* index,
                 std::set<int64_t>* offsets) {
  const size_t d = index->size();
  if (d == box.low.size()) {
    offsets->insert(region.offset(*index));
    return;
  }
  for (int64_t i = box.low[d]; i <= box.high[d]; ++i) {
    index->push_back(i);
    add_offsets(box, region, index, offsets);
    index->pop_back();
  }
}

int64_t elements_in(const Box& box) {
  int64_t elements = 1;
  for (size_t d = 0; d < box.low.size(); ++d) {
    elements = std::min(kMostSteps + 1, elements * (box.high[d] - box.low[d] + 1));
  }
  return elements;
}

// The addresses that the statement asks for.
void add_touched(const hi::Stmt& statement, std::map<std::string, int64_t>* variables,
                 std::set<int64_t>* touched) {
  if (const auto* loop = statement.as<hi::For>()) {
    const int64_t extent = evaluate_halide(loop->extent, *variables);
    for (int64_t step = 0; step < extent; ++step) {
      (*variables)[loop->name] = step;
      add_touched(loop->body, variables, touched);
    }
    return;
  }
  touched->insert(evaluate_halide(prefetch_in(statement)->args.at(1), *variables));
}

std::set<int64_t> offsets_of(const Box& box, const Region& region) {
  std::set<int64_t> offsets;
  std::vector<int64_t> index;
  add_offsets(box, region, &index, &offsets);
  return offsets;
}

}  // namespace

bool check_prefetch(const EmittedPair& pair, size_t item, const EmittedPoint& point) {
  const NestItem& wanted = pair.wanted[item];
  const StatementItem& found = pair.found[item];
  const Loop &loop = *wanted.loop, &stepped = *wanted.stepped;
  const std::string variable = stepped.variable();
  const int64_t end =
      evaluate_index(stepped.min, point.nest) + evaluate_index(stepped.extent, point.nest);
  // Behind the last step that one is asked for again.
  const int64_t step = std::min(point.nest.at(variable) + wanted.prefetch->distance, end - 1);
  const Region region = region_of(pair, wanted, wanted.prefetch->buffer, point);
  expect(found.full_name == region.memory, "of {}, expected {}", found.full_name, region.memory);
  // Storage of a region without elements has room for one, which nothing reads.
  const bool empty = std::any_of(region.extents.begin(), region.extents.end(),
                                 [](int64_t extent) { return extent <= 0; });
  if (empty) return false;
  std::map<std::string, int64_t> then = point.nest;
  then[variable] = step;
  const StepReads reads(pair.nest, loop, wanted.prefetch->buffer, std::move(then));
  if (reads.guarded.empty) return false;
  const Box box = in_memory(reads.unguarded, region), needed = in_memory(reads.guarded, region);
  if (elements_in(box) > kMostSteps) return false;
  std::set<int64_t> touched;
  std::map<std::string, int64_t> variables = point.halide;
  add_touched(found.statement, &variables, &touched);
  const std::set<int64_t> allowed = offsets_of(box, region);
  for (int64_t offset : touched) {
    expect(offset >= 0 && offset < region.elements, "offset {} of {} elements", offset,
           region.elements);
    expect(!reads.exact || allowed.count(offset) > 0, "offset {}, which step {} does not read",
           offset, step);
  }
  const int64_t line = kLineBytes / size_in_bytes(pair.nest.buffer(wanted.prefetch->buffer).dtype);
  for (int64_t offset : offsets_of(needed, region)) {
    auto behind = touched.upper_bound(offset);
    expect(behind != touched.begin() && offset - *std::prev(behind) < line,
           "not offset {}, which step {} reads", offset, step);
  }
  return true;
}

}  // namespace emulsion
