#include "tests/backends/interpreter/random_schedules.h"

#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "dsl/operators.h"

namespace emulsion {

int RandomSchedules::pick(int low, int high) {
  return low + static_cast<int>(engine_() % static_cast<uint32_t>(high - low + 1));
}

Extent RandomSchedules::extent() {
  static constexpr int kExtents[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 20};
  return Extent(kExtents[pick(0, 11)]);
}

Tensor RandomSchedules::weight_of(const Shape& shape) {
  return weight("w" + std::to_string(names_++), f32, shape);
}

void RandomSchedules::add_operator(std::vector<Tensor>* pool) {
  const Tensor& x = pick(0, 3)
                        ? pool->back()
                        : (*pool)[static_cast<size_t>(pick(0, static_cast<int>(pool->size()) - 1))];
  const Shape shape = x.shape();
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) return pool->push_back(relu(x));
  const int axis = pick(0, rank - 1);
  switch (pick(0, 11)) {
    case 0:
    case 1:
    case 2:
      return pool->push_back(matmul(x, weight_of({shape.back(), extent()})));
    case 3:
      return pool->push_back(relu(x));
    case 4:
      return pool->push_back(add(x, weight_of({shape.back()})));
    case 5:
      return pool->push_back(add(x, pool->front()));
    case 6:
      return pool->push_back(transpose(x));
    case 7:
      return pool->push_back(sum(x, {axis}, pick(0, 1) == 1));
    case 8:
      return pool->push_back(sub(x, reduce_max(x, {axis}, true)));
    case 9:
      return pool->push_back(concat({x, mul(x, 2)}, axis));
    case 10:
      // Not of a run-time size: what is computed at a loop of the padded tensor, which has rows
      // when there are none to pad, reads an empty tensor. verify_nest refuses such a nest.
      if (!shape[0].is_constant() || !shape.back().is_constant()) return;
      return pool->push_back(pad(x, std::vector<int64_t>(shape.size(), pick(0, 2)),
                                 std::vector<int64_t>(shape.size(), pick(0, 2)), 1));
    default:
      return pool->push_back(clamp(mul(x, 2), -50, 50));
  }
}

Graph RandomSchedules::graph() {
  std::vector<Tensor> pool = {
      input("x", f32, {pick(0, 1) ? Extent::size("B") : extent(), extent()})};
  const int count = pick(1, 4);
  for (int i = 0; i < count; ++i) {
    try {
      add_operator(&pool);
    } catch (const Error&) {  // shapes that do not fit: another operator is as good
    }
  }
  if (pool.size() == 1) pool.push_back(relu(pool[0]));
  if (pool.size() == 2 || pick(0, 3)) return Graph(pool.back());
  return Graph(std::vector<Tensor>{pool.back(), pool[pool.size() - 2]});
}

void RandomSchedules::split(StageSchedule* stage, Loops* loops, size_t at) {
  static constexpr Tail kTails[] = {
      Tail::automatic, Tail::automatic,     Tail::guard,           Tail::predicate,
      Tail::round_up,  Tail::shift_inwards, Tail::predicate_loads, Tail::predicate_stores};
  const std::string axis = loops->names[at];
  const std::string number = std::to_string(names_++);
  const std::string outer = pick(0, 3) ? axis + "o" + number : axis;  // a name may be used again
  const std::string inner = axis + "i" + number;
  stage->split(Axis(axis), Axis(outer), Axis(inner), pick(1, 6), kTails[pick(0, 7)]);
  loops->names[at] = outer;
  loops->names.insert(loops->names.begin() + static_cast<std::ptrdiff_t>(at) + 1, inner);
}

void RandomSchedules::reorder(StageSchedule* stage, Loops* loops) {
  std::vector<std::string>& names = loops->names;
  for (size_t i = names.size(); i > 1; --i) {
    std::swap(names[i - 1], names[static_cast<size_t>(pick(0, static_cast<int>(i) - 1))]);
  }
  std::vector<Axis> innermost_first;
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    innermost_first.emplace_back(*name);
  stage->reorder(innermost_first);
}

void RandomSchedules::add_loop_directive(StageSchedule* stage, Loops* loops) {
  if (loops->names.empty()) return;
  const size_t at = static_cast<size_t>(pick(0, static_cast<int>(loops->names.size()) - 1));
  const Axis axis(loops->names[at]);
  switch (pick(0, 7)) {
    case 0:
      stage->vectorize(axis);
      return;
    case 1:
      stage->unroll(axis);
      return;
    case 2:
      stage->parallel(axis);
      return;
    case 3:
      return reorder(stage, loops);
    case 4: {
      if (at + 1 == loops->names.size()) return;
      const std::string fused = "f" + std::to_string(names_++);
      stage->fuse(axis, Axis(loops->names[at + 1]), Axis(fused));
      loops->names[at] = fused;
      loops->names.erase(loops->names.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      return;
    }
    default:
      return split(stage, loops, at);
  }
}

void RandomSchedules::place(const Graph& graph, const Op& op, const std::vector<Loops>& consumers,
                            StageSchedule* stage) {
  for (const Loops& consumer : consumers) {
    const std::vector<OpPtr> read = operands(**graph.find(consumer.name));
    const bool reads = std::any_of(read.begin(), read.end(),
                                   [&](const OpPtr& operand) { return operand.get() == &op; });
    if (!reads || consumer.names.empty()) continue;
    if (pick(0, 3) == 0) {
      stage->compute_inline();
      return;
    }
    const size_t loop = static_cast<size_t>(pick(0, static_cast<int>(consumer.names.size()) - 1));
    stage->compute_at(Tensor(*graph.find(consumer.name)), Axis(consumer.names[loop]));
    return;
  }
}

Schedule RandomSchedules::schedule(const Graph& graph) {
  Schedule schedule(graph);
  std::vector<Loops> consumers;  // scheduled already, outputs first
  for (auto op = graph.ops().rbegin(); op != graph.ops().rend(); ++op) {
    if ((*op)->kind != OpKind::compute) continue;
    StageSchedule& stage = schedule[(*op)->name];
    Loops loops{(*op)->name, {}};
    for (const Axis& axis : (*op)->axes) loops.names.push_back(axis.name());
    const bool reduces = (*op)->combiner != Combiner::none;
    const int structure = reduces ? pick(0, 5) : 5;
    if (structure == 0) {
      stage.cache_write((*op)->name + "_acc");
    } else if (structure == 1 && (*op)->reduction_axes.size() == 1) {
      const Axis& reduced = (*op)->reduction_axes[0];
      stage.split(reduced, reduced, Axis("lane"), pick(1, 5));
      stage.rfactor(Axis("lane"), (*op)->name + "_lanes");
      loops.names.push_back("lane");
    } else {
      for (const Axis& axis : (*op)->reduction_axes) loops.names.push_back(axis.name());
    }
    for (const OpPtr& operand : operands(**op)) {
      if (operand->kind == OpKind::weight && !(*op)->axes.empty() && pick(0, 4) == 0) {
        stage.pack(Tensor(operand), (*op)->axes.back(), pick(1, 6));
      }
    }
    const int directives = pick(0, 3);
    for (int i = 0; i < directives; ++i) add_loop_directive(&stage, &loops);
    if (!graph.is_output(**op) && pick(0, 2)) place(graph, **op, consumers, &stage);
    consumers.push_back(std::move(loops));
  }
  return schedule;
}

}  // namespace emulsion
