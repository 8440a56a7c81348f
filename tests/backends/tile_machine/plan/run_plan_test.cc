// Planned programs on real data: bytes at the planned addresses, in the order of the planned
// cycles, equal to the nest run by the interpreter.

#include "backends/tile_machine/plan/run_plan.h"

#include <gtest/gtest.h>

#include "backends/interpreter/interpret_nest.h"
#include "backends/tile_machine/plan/plan_scratchpad.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/tile_machine/plan/test_programs.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

TensorValues arguments_of(const LoopNest& nest, const SizeValues& sizes) {
  TensorValues arguments;
  uint64_t seed = 1;
  for (const Buffer* buffer : nest.arguments()) {
    if (buffer->role == BufferRole::output) continue;
    std::vector<int64_t> shape;
    for (const Extent& extent : buffer->shape) shape.push_back(extent.evaluate(sizes));
    arguments[buffer->name] = random_integers(buffer->dtype, shape, seed++);
  }
  return arguments;
}

TileMachine with_sram(TileMachine machine, int64_t bytes, bool double_buffer) {
  machine.sram_bytes = (bytes + machine.alignment - 1) / machine.alignment * machine.alignment;
  machine.double_buffer = double_buffer;
  return machine;
}

int64_t need_of(const TileProgram& program, const TileMachine& machine) {
  int64_t most = machine.alignment;
  for (const TileStep& step : program.steps) {
    int64_t need = 0;
    for (size_t i = 0; i < step.operand_count; ++i) {
      need += (program.tiles[program.operand(step, i)].bytes + machine.alignment - 1) /
              machine.alignment * machine.alignment;
    }
    most = std::max(most, need);
  }
  return most;
}

struct Totals {
  int64_t loads_again = 0, spills = 0, repacks = 0;
};

// Both policies, double buffering on and off, from the least SRAM that is enough to a lot.
void expect_equal_to_the_nest(const LoopNest& nest, const SizeValues& sizes, Totals* totals) {
  const TensorValues arguments = arguments_of(nest, sizes);
  const TensorValues expected = interpret_nest(nest, arguments);
  const NestTiles tiles = collect_tiles(nest, sizes, true);
  const int64_t need = need_of(tiles.program, small_machine());
  for (int64_t bytes : {need, need + 64, need + need / 2, 4 * need, int64_t{1} << 20}) {
    for (EvictionPolicy policy : {EvictionPolicy::lru, EvictionPolicy::belady}) {
      for (bool double_buffer : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {} bytes, {}, double_buffer {}\n{}", nest.name, bytes,
                                 to_string(policy), double_buffer, to_string(nest)));
        const TileMachine machine = with_sram(small_machine(), bytes, double_buffer);
        ScratchpadPlan plan;
        ASSERT_NO_THROW(plan = checked_plan(tiles.program, machine, policy));
        const PlanTiming timing = time_plan(tiles.program, plan);
        TensorValues actual;
        ASSERT_NO_THROW(actual = run_plan(nest, tiles, plan, timing, arguments));
        ASSERT_EQ(actual.size(), expected.size());
        for (const auto& [name, value] : expected) {
          EXPECT_EQ(actual.at(name).shape, value.shape);
          EXPECT_EQ(actual.at(name).bytes, value.bytes) << name;
        }
        totals->loads_again += plan.counts.loads - plan.counts.cold_loads;
        totals->spills += plan.counts.spills;
        totals->repacks += plan.counts.repacks;
      }
    }
  }
}

class RunPlan : public testing::TestWithParam<NamedGraph> {};

TEST_P(RunPlan, ComputesWhatTheNestComputes) {
  const LoopNest nest = run_pipeline(GetParam().graph, Target::tile_machine(small_machine())).nest;
  Totals totals;
  if (nest.sizes.empty()) return expect_equal_to_the_nest(nest, {}, &totals);
  for (int64_t B : {0, 1, 9}) expect_equal_to_the_nest(nest, {{"B", B}}, &totals);
}

INSTANTIATE_TEST_SUITE_P(Graphs, RunPlan, testing::ValuesIn(tile_graphs()),
                         [](const auto& row) { return row.param.name; });

TEST(RunPlanOf, ThreeLayersWithEdges) {
  Tensor h = input("x", f32, {11, 13});
  const int64_t widths[] = {13, 19, 17, 10};
  for (int layer = 0; layer < 3; ++layer) {
    const std::string n = std::to_string(layer);
    Tensor w = weight("w" + n, f32, {widths[layer], widths[layer + 1]});
    h = relu(add(matmul(h, w, "mm" + n), weight("b" + n, f32, {widths[layer + 1]}), "a" + n),
             "h" + n);
  }
  const LoopNest nest = run_pipeline(Graph(h), Target::tile_machine(small_machine())).nest;
  Totals totals;
  expect_equal_to_the_nest(nest, {}, &totals);
  EXPECT_GT(totals.loads_again, 100);
  EXPECT_GT(totals.spills, 100);
  EXPECT_GT(totals.repacks, 0);
}

// The checks above can fail: a plan or a timing that is wrong computes something else.
class WrongPlan : public testing::Test {
 protected:
  WrongPlan() {
    const Graph graph = linear_graph(9, 7, 11);
    nest_ = run_pipeline(graph, Target::tile_machine(small_machine())).nest;
    arguments_ = arguments_of(nest_, {});
    expected_ = interpret_nest(nest_, arguments_).at("y").bytes;
    tiles_ = collect_tiles(nest_, {}, true);
    machine_ = with_sram(small_machine(), need_of(tiles_.program, small_machine()) + 64, true);
    plan_ = plan_scratchpad(tiles_.program, machine_);
    timing_ = time_plan(tiles_.program, plan_);
  }
  std::vector<uint8_t> run() const {
    return run_plan(nest_, tiles_, plan_, timing_, arguments_).at("y").bytes;
  }
  size_t find(PlannedKind kind) const {
    size_t i = 0;
    while (plan_.uops[i].kind != kind) ++i;
    return i;
  }

  LoopNest nest_;
  TensorValues arguments_;
  std::vector<uint8_t> expected_;
  NestTiles tiles_;
  TileMachine machine_;
  ScratchpadPlan plan_;
  PlanTiming timing_;
};

TEST_F(WrongPlan, ButThisOneIsRight) { EXPECT_EQ(run(), expected_); }

TEST_F(WrongPlan, AShiftedLoad) {
  PlannedUop& load = plan_.uops[find(PlannedKind::load)];
  load.address += load.address == 0 ? machine_.alignment : -machine_.alignment;
  EXPECT_NE(run(), expected_);
}

TEST_F(WrongPlan, AShiftedOperand) {
  const TileStep& step = tiles_.program.steps[1];
  int64_t& address = plan_.operand_addresses[step.first_operand];
  address += address == 0 ? machine_.alignment : -machine_.alignment;
  EXPECT_NE(run(), expected_);
}

TEST_F(WrongPlan, ALoadLeftOut) {
  const auto load = static_cast<std::ptrdiff_t>(find(PlannedKind::load));
  plan_.uops.erase(plan_.uops.begin() + load);
  timing_.spans.erase(timing_.spans.begin() + load);
  EXPECT_NE(run(), expected_);
}

TEST_F(WrongPlan, AStoreLeftOut) {
  const auto store = static_cast<std::ptrdiff_t>(find(PlannedKind::store));
  plan_.uops.erase(plan_.uops.begin() + store);
  timing_.spans.erase(timing_.spans.begin() + store);
  EXPECT_NE(run(), expected_);
}

TEST_F(WrongPlan, AnExecuteBeforeItsLoads) {
  size_t execute = find(PlannedKind::execute);
  do {
    ++execute;
  } while (plan_.uops[execute].kind != PlannedKind::execute);
  timing_.spans[execute] = {0, 1};
  EXPECT_NE(run(), expected_);
}

TEST_F(WrongPlan, LoadsThatDoNotWait) {
  for (size_t i = 0; i < plan_.uops.size(); ++i) {
    if (plan_.uops[i].kind == PlannedKind::load) timing_.spans[i] = {0, 1};
  }
  EXPECT_NE(run(), expected_);
}

TEST_F(WrongPlan, WithoutWorks) {
  tiles_.works.clear();
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace emulsion
