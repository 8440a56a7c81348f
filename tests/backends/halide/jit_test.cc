#include "backends/halide/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/backends/halide/wrong_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"
#include "tests/small_stack.h"

namespace emulsion {
namespace {

using testing::HasSubstr;

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

// The schedule's nest against the graph's meaning, for batches down to none.
void expect_same_as_graph(const Graph& graph, const Schedule& schedule) {
  const LoopNest nest = lower(graph, schedule);
  verify_nest(nest);
  expect_same_as_graph(graph, nest, {0, 1, 5, 13}, 2e-6);
}

// Names that Halide makes itself, or that mean a function to LLVM, are names like any other.
TEST(Jit, RunsOperationsOfAnyName) {
  for (const std::string name : {"t18", "tanh", "exp", "memcpy", "v0"}) {
    for (DType dtype : {f32, f64}) {
      Graph graph(tanh(exp(input("x", dtype, {4}), name == "exp" ? "" : "e"), name));
      expect_same_as_graph(graph, Schedule(graph));
    }
  }
}

TEST(Jit, ReadsNothingOfAnEmptyConstant) {
  Tensor none = constant("none", {0, 4}, std::vector<float>{});
  Tensor rows = input("rows", f32, {Extent::size("B"), 4});
  Axis i("i", Extent::size("B")), j("j", 4), k("k", 0);
  Graph graph(compute("y", {i, j}, rows(i, j) + sum(k, none(k, j))));
  expect_same_as_graph(graph, Schedule(graph));
}

// Where compilers would need minutes, or crash.
TEST(Jit, RefusesMoreCodeThanIsCompiled) {
  const Axis i("i", 2400);
  const Graph graph(compute("y", {i}, input("x", f32, {2400})(i) * 2.0f));
  Schedule schedule(graph);
  schedule["y"].unroll(i, 1200);
  EXPECT_ERROR(JitKernel{lower(graph, schedule)},
               "expected at most 1024 copies of what y computes");
}

// Each maximum uses its operand twice: as a tree, this would be 2^100 operations.
TEST(Jit, CompilesAChainOfMaximaAsOneExpression) {
  Tensor y = input("x", f32, {4});
  for (int i = 0; i < 100; ++i) y = relu(y + -1.0f + 1.5f);
  const Graph graph(y);
  Schedule schedule(graph);
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute && op != graph.outputs()[0]) {
      schedule[op->name].compute_inline();
    }
  }
  expect_same_as_graph(graph, schedule);
}

// Halide walks what it compiles recursively; the caller's stack is not used for that.
TEST(Jit, CompilesALongExpressionOnASmallStack) {
  Tensor x = input("x", f32, {4});
  Axis i("i", 4);
  Expr body = x(i);
  for (int k = 0; k < 300; ++k) body = body * 0.5f + x(i);
  const Graph graph(compute("y", {i}, body));
  const LoopNest nest = lower(graph, Schedule(graph));
  std::string error = "not run";
  run_on_stack(192 << 10, [&] { error = error_of([&] { JitKernel kernel(nest); }); });
  EXPECT_EQ(error, "no Error");
}

class OperatorTest : public testing::TestWithParam<size_t> {};

TEST_P(OperatorTest, AgreesWithTheGraph) {
  GraphCase c = operator_cases()[GetParam()];
  SCOPED_TRACE(c.name);
  expect_same_as_graph(c.graph, Schedule(c.graph));
}

INSTANTIATE_TEST_SUITE_P(All, OperatorTest, testing::Range(size_t{0}, operator_cases().size()),
                         [](const auto& info) { return operator_cases()[info.param].name; });

class ScheduleTest : public testing::TestWithParam<size_t> {};

TEST_P(ScheduleTest, AgreesWithTheGraph) {
  ScheduledCase c = scheduled_cases()[GetParam()];
  SCOPED_TRACE(c.name);
  expect_same_as_graph(c.graph, c.schedule);
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleTest, testing::Range(size_t{0}, scheduled_cases().size()),
                         [](const auto& info) { return scheduled_cases()[info.param].name; });

// y = relu(x w + b) with 1 row, 2 inputs and 20 outputs, tiled and packed.
struct Linear {
  Graph graph;
  LoopNest nest;

  static Graph make() {
    Tensor x = input("x", f32, {Extent::size("B"), 2});
    return Graph(relu(matmul(x, weight("w", f32, {2, 20}), "mm") + weight("b", f32, {20}), "y"));
  }
  static LoopNest lowered(const Graph& graph) {
    Schedule s(graph);
    s["mm"].pack(Tensor(*graph.find("w")), Axis("n"), 16);
    return lower(graph, s);
  }
  Linear() : graph(make()), nest(lowered(graph)) {}

  TensorValues arguments(float x0) const {
    TensorValues values = arguments_for(graph, 1, 3);
    values["x"] = make_tensor({1, 2}, std::vector<float>{x0, 1});
    return values;
  }
  // Runs with everything in place but for what `change` does to the arguments.
  std::string error_with(
      const std::function<void(std::map<std::string, JitBuffer>*)>& change) const {
    TensorValues values = arguments(1);
    TensorValue y = zeros(f32, {1, 20});
    values["y"] = y;
    std::map<std::string, JitBuffer> buffers;
    for (auto& [name, value] : values)
      buffers[name] = {value.dtype, value.shape, value.bytes.data()};
    change(&buffers);
    std::vector<uint8_t> before = values["y"].bytes;
    std::string message = error_of([&] { JitKernel(nest).run(buffers); });
    EXPECT_EQ(values["y"].bytes, before);
    return message;
  }
};

TEST(Jit, NanInAnInputReachesEveryOutputThatNeedsIt) {
  Linear linear;
  TensorValue y = run_by_jit(linear.nest, linear.arguments(kNan), 1).at("y");
  for (float value : y.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST(Jit, InfinityTimesZeroIsNan) {
  Linear linear;
  TensorValues arguments = linear.arguments(kInfinity);
  arguments["w"].set_value(0, 0);
  TensorValue y = run_by_jit(linear.nest, arguments, 1).at("y");
  EXPECT_TRUE(std::isnan(y.value(0)));
}

TEST(Jit, NanInTheBiasPassesReluAndMax) {
  Linear linear;
  TensorValues arguments = linear.arguments(1);
  arguments["b"].set_value(19, kNan);
  TensorValue y = run_by_jit(linear.nest, arguments, 1).at("y");
  EXPECT_TRUE(std::isnan(y.value(19)));
  EXPECT_FALSE(std::isnan(y.value(18)));
}

// Halide's simplifier took loads of an output, between which there is a store, for one load (random
// graph 936 of seed 557001).
TEST(Jit, UnrolledUpdatesOfAnOutputFollowOneAnother) {
  const Extent rows = Extent::size("B");
  const Axis i("i", rows), j("j", 20), r("r", 5), lane("lane");
  for (DType type : {f32, f64, i32}) {
    const Tensor x = input("x", type, {rows, 20, 5});
    for (const Expr& value : {reduce_max(r, x(i, j, r)), reduce_min(r, x(i, j, r))}) {
      Tensor y = compute("y", {i, j}, value);
      Schedule scalars(y), vectors(y);
      scalars[y].unroll(r);
      vectors[y].unroll(r).split(j, j, lane, 4).reorder({lane, r, j, i}).vectorize(lane);
      for (const Schedule& schedule : {scalars, vectors}) {
        expect_same_as_graph(Graph(y), lower(Graph(y), schedule), {1, 2, 5}, 0);
      }
    }
  }
}

// Vectors of an output that are read again, at an address that is a multiple of an element only.
TEST(Jit, AnOutputThatIsReadMayLieAnywhere) {
  const Axis m("m", 3), n("n", 64), k("k", 5);
  const Tensor x = input("x", f32, {3, 5}), w = input("w", f32, {5, 64});
  Schedule schedule(compute("y", {m, n}, sum(k, x(m, k) * w(k, n))));
  schedule["y"].reorder({n, k, m}).vectorize(n, 16).unroll(k);
  const LoopNest nest = lower(schedule.graph(), schedule);
  TensorValues arguments = {{"x", random_integers(f32, {3, 5}, 1)},
                            {"w", random_integers(f32, {5, 64}, 2)}};
  const std::vector<float> expected =
      interpret_graph(schedule.graph(), arguments).at("y").to_vector<float>();
  std::vector<float> memory(3 * 64 + 32);
  const JitKernel kernel(nest);
  for (size_t shift = 0; shift < 32; ++shift) {
    std::map<std::string, JitBuffer> buffers = {
        {"x", {f32, {3, 5}, arguments.at("x").bytes.data()}},
        {"w", {f32, {5, 64}, arguments.at("w").bytes.data()}},
        {"y", {f32, {3, 64}, memory.data() + shift}}};
    kernel.run(buffers);
    EXPECT_EQ(std::vector<float>(memory.begin() + static_cast<std::ptrdiff_t>(shift),
                                 memory.begin() + static_cast<std::ptrdiff_t>(shift) + 192),
              expected);
  }
}

// Data decide which values are summed, and a comparison with NaN is false. The steps that lanes
// have past the end of an axis are a select of the same form, which indices decide.
TEST(Jit, SumsOfWhatComparesLeaveOutTheOthers) {
  const Axis i("i", 3), r("r", 40);
  const Tensor x = input("x", f32, {3, 40});
  const Expr one = x(i, r), first = x(i, 1);
  Tensor numbers = compute("numbers", {i}, sum(r, select(one == one, one, 0.0f)));
  Tensor greater = compute("greater", {i}, sum(r, select(one > first, one, 0.0f)));
  Tensor rows = compute("rows", {i}, sum(r, select(first == first, one, 0.0f)));
  const Graph graph({numbers, greater, rows});
  TensorValues arguments;
  arguments["x"] = random_integers(f32, {3, 40}, 1, -3, 3);
  for (size_t at : {5, 39, 41, 81}) arguments["x"].set_value(at, kNan);
  const LoopNest nest = lower(graph, Schedule(graph));
  const TensorValues expected = interpret_graph(graph, arguments);
  for (const Target& target : {Target::parse("x86-64-v2"), Target::host()}) {
    for (const auto& [name, value] : run_by_jit(nest, arguments, 1, target)) {
      const auto difference = first_difference(expected.at(name), value);
      EXPECT_FALSE(difference) << name << ": " << *difference;
    }
  }
}

// Rows of vectors whose last one is shifted inwards, compared with one element of each row.
// Halide's partition of loops took a comparison with NaN for one of numbers (random graph 174 of
// seed 20261121, with the host taken for x86-64-v3).
TEST(Jit, NanInOneElementOfARowReachesTheRow) {
  const Axis i("i", 3), j("j", 15);
  const Tensor x = input("x", f32, {3, 15});
  const Expr one = x(i, 1) - 0.5f, all = x(i, j) - 0.5f;
  Tensor greatest = compute("greatest", {i, j}, max(all, one));
  Tensor least = compute("least", {i, j}, min(all, one));
  Tensor equal = compute("equal", {i, j}, select(one == one, all, one));
  Schedule schedule(Graph({greatest, least, equal}));
  for (const Tensor& stage : {greatest, least, equal}) {
    schedule[stage].vectorize(j, 8, Tail::shift_inwards);
  }
  TensorValues arguments;
  arguments["x"] = random_integers(f32, {3, 15}, 1, -3, 3);
  arguments["x"].set_value(15 + 1, kNan);
  const LoopNest nest = lower(schedule.graph(), schedule);
  for (const Target& target : {Target::parse("x86-64-v2"), Target::host()}) {
    const TensorValues values = run_by_jit(nest, arguments, 1, target);
    for (const auto& [name, value] : values) {
      for (int64_t at = 0; at < 45; ++at) {
        EXPECT_EQ(std::isnan(value.value(at)), at / 15 == 1) << name << " at " << at;
      }
    }
  }
}

// A vector with lanes that no element is loaded for divides nothing by nothing there.
TEST(Jit, DividesByLanesThatAreNotLoaded) {
  const Axis i("i", 5), j("j", 1);
  const Tensor x = input("x", f32, {5, 1}), z = input("z", f32, {5, 1});
  Tensor quotient = compute("quotient", {i, j}, x(i, j) / z(i, j));
  Tensor y = compute("y", {i, j}, quotient(i, j) + 1.0f);
  Schedule schedule(y);
  schedule[quotient].vectorize(j, 3, Tail::predicate_loads);
  TensorValues arguments;
  arguments["x"] = random_integers(f32, {5, 1}, 1, 2, 2);
  arguments["z"] = random_integers(f32, {5, 1}, 1, 4, 4);
  const LoopNest nest = lower(schedule.graph(), schedule);
  const TensorValue result = run_by_jit(nest, arguments, 1).at("y");
  for (float value : result.to_vector<float>()) EXPECT_EQ(value, 1.5f);
}

TEST(Jit, AWeightMayComePacked) {
  Linear linear;
  TensorValues arguments = linear.arguments(2);
  TensorValues packed = apply_packs(linear.nest, arguments);
  ASSERT_EQ(packed.count("w"), 0u);
  EXPECT_EQ(first_difference(run_by_jit(linear.nest, arguments, 1).at("y"),
                             run_by_jit(linear.nest, packed, 1).at("y")),
            std::nullopt);
}

TEST(Jit, OneKernelServesManyThreads) {
  Linear linear;
  JitKernel kernel(linear.nest);
  TensorValues expected = run_by_jit(linear.nest, linear.arguments(3), 1);
  std::vector<TensorValue> results(4, zeros(f32, {1, 20}));
  std::vector<std::thread> threads;
  for (TensorValue& result : results) {
    threads.emplace_back([&] {
      TensorValues values = linear.arguments(3);
      std::map<std::string, JitBuffer> buffers = {{"y", {f32, {1, 20}, result.bytes.data()}}};
      for (auto& [name, value] : values) {
        buffers[name] = {value.dtype, value.shape, value.bytes.data()};
      }
      for (int i = 0; i < 50; ++i) kernel.run(buffers);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TensorValue& result : results) {
    EXPECT_EQ(first_difference(expected.at("y"), result), std::nullopt);
  }
}

TEST(Jit, NarrowerTargetsGiveTheSameWholeNumbers) {
  Linear linear;
  TensorValues arguments = linear.arguments(2);
  TensorValue expected = interpret_graph(linear.graph, arguments).at("y");
  for (const char* target : {"x86-64-linux", "x86-64-v2"}) {
    EXPECT_EQ(first_difference(
                  expected, run_by_jit(linear.nest, arguments, 1, Target::parse(target)).at("y")),
              std::nullopt)
        << target;
  }
}

TEST(Jit, RefusesAMissingArgument) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { buffers->erase("x"); }),
              HasSubstr("argument x: expected one, got none"));
}

TEST(Jit, RefusesAMissingWeightByItsName) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { buffers->erase("w"); }),
              HasSubstr("argument w_packed: expected one, got none; legal: w, which is packed on "
                        "each call, or w_packed as its pack makes it"));
}

TEST(Jit, RefusesAWeightThatIsNotPackedInThePlaceOfAPackedOne) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) {
    buffers->emplace("w_packed", buffers->at("w"));
    buffers->erase("w");
  }),
              HasSubstr("argument w_packed: expected rank 3, got 2; legal: w, which is packed"));
}

TEST(Jit, RefusesASizeThatNoArgumentGives) {
  const Axis i("i", 6), k("k", Extent::size("B"));
  const Graph graph(compute("y", {i}, sum(k, input("x", f32, {6})(i))));
  const JitKernel kernel(lower(graph, Schedule(graph)));
  std::vector<float> x(6), y(6);
  EXPECT_ERROR(kernel.run({{"x", {f32, {6}, x.data()}}, {"y", {f32, {6}, y.data()}}}),
               "run-time size B: expected a value, got none");
}

TEST(Jit, RefusesAnUnknownArgument) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { (*buffers)["z"] = (*buffers)["x"]; }),
              HasSubstr("argument z: expected an argument of y (b, w, x or y)"));
}

TEST(Jit, RefusesANameThatIsWrittenWronglyAndNotTheOneThatIsMissing) {
  EXPECT_THAT(
      Linear().error_with([](auto* buffers) {
        (*buffers)["bb"] = (*buffers)["b"];
        buffers->erase("b");
      }),
      HasSubstr("argument bb: expected an argument of y (b, w, x or y), got bb; nearest: b"));
}

TEST(Jit, RefusesAWrongType) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { (*buffers)["x"].dtype = i32; }),
              HasSubstr("argument x: expected f32, got i32"));
}

TEST(Jit, RefusesAWrongRank) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { (*buffers)["x"].shape = {2}; }),
              HasSubstr("x"));
}

TEST(Jit, RefusesAWrongExtent) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { (*buffers)["b"].shape = {19}; }),
              HasSubstr("b"));
}

TEST(Jit, RefusesBatchesThatDisagree) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) {
    (*buffers)["y"].shape = {2, 20};
  }),
              HasSubstr("y"));
}

TEST(Jit, RefusesANullPointer) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) { (*buffers)["b"].data = nullptr; }),
              HasSubstr("argument b: expected data, got a null pointer"));
}

// As an archive's entry does.
TEST(Jit, RefusesAPointerBetweenElements) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) {
    (*buffers)["b"].data = static_cast<uint8_t*>((*buffers)["b"].data) + 2;
  }),
              HasSubstr("argument b: expected data aligned to 4 bytes, got a pointer 2 past a "
                        "multiple of that"));
}

TEST(Jit, RefusesAnOutputThatSharesMemory) {
  EXPECT_THAT(
      Linear().error_with([](auto* buffers) { (*buffers)["y"].data = (*buffers)["b"].data; }),
      HasSubstr("expected memory of its own"));
}

// The kernel reads the packed copy; the caller still loses the weight.
TEST(Jit, RefusesAnOutputThatSharesMemoryWithAWeightThatItPacks) {
  EXPECT_THAT(
      Linear().error_with([](auto* buffers) { (*buffers)["y"].data = (*buffers)["w"].data; }),
      HasSubstr("argument y: expected memory of its own, got memory that w has too"));
}

TEST(Jit, RefusesAWrongShapeOfAWeightThatItPacks) {
  EXPECT_THAT(Linear().error_with([](auto* buffers) {
    (*buffers)["w"].shape = {20, 2};
  }),
              HasSubstr("w"));
}

TEST(Jit, RefusesATargetThatThisMachineIsNot) {
  Target target = Target::parse("x86-64-v4-avx512_sapphirerapids-avx512_zen5");
  if (runs_on_this_machine(target)) GTEST_SKIP() << "this machine has everything";
  // The first that is missing is avx512 itself, or one of its generations.
  EXPECT_THAT(error_of([&] { JitKernel(Linear().nest, target); }),
              HasSubstr("expected one that this machine is, got avx512"));
}

TEST(Jit, AMistakeInTheNestIsAnInternalError) {
  LoopNest nest = Linear().nest;
  nest.root = nullptr;
  EXPECT_THROW(JitKernel kernel(nest), InternalError);
}

TEST(Jit, AStageThatNothingComputesIsAnInternalError) {
  LoopNest nest = Linear().nest;
  nest.stages.push_back(nest.stages.back());
  nest.stages.back().name = "lost";
  EXPECT_THROW(JitKernel kernel(nest), InternalError);
}

TEST(Jit, ATooSmallAllocIsAnInternalErrorOrACode) {
  // mm needs 20 columns and would get 4.
  Linear linear;
  LoopNest nest = linear.nest;
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) {
    if (alloc->stage == "mm") alloc->extents.back() = int_constant(4);
  });
  EXPECT_ANY_THROW(run_by_jit(nest, linear.arguments(1), 1));
}

// y[m, n] = x[m, n] * 2 + 1 of as many rows, by the nest that has room for 40.
void run_checked(const LoopNest& nest, int64_t rows) {
  std::vector<float> x(static_cast<size_t>(rows * 5), 3), y(x.size());
  CompileOptions options;
  options.checked = true;
  const JitKernel kernel(nest, Target::host(), options);
  kernel.run({{"x", {f32, {rows, 5}, x.data()}}, {"y", {f32, {rows, 5}, y.data()}}});
  EXPECT_EQ(y, std::vector<float>(x.size(), 7));
}

TEST(JitChecked, RunsWhatStaysInItsMemory) {
  for (int64_t rows : {0, 1, 40}) run_checked(nest_that_is_wrong_for_many_rows(), rows);
}

TEST(JitChecked, SaysWhichIndexLeavesItsMemory) {
  EXPECT_ERROR(run_checked(nest_that_is_wrong_for_many_rows(), 41),
               "stage a, axis 0 of a: expected an index from 0 to less than 40, counted from 0, "
               "got 40");
  EXPECT_ERROR(run_checked(nest_that_is_wrong_for_many_rows(), 41), "kernel y: code -27:");
}

TEST(JitChecked, LooksAtReads) {
  // All that is written is inside, and what is read is not.
  LoopNest nest = nest_that_is_wrong_for_many_rows();
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    if (uop->stage == "a") uop->point[0] = min(uop->point[0], 39);
  });
  EXPECT_ERROR(run_checked(nest, 41),
               "stage y, axis 0 of a: expected an index from 0 to less than "
               "40, counted from 0, got 40");
}

}  // namespace
}  // namespace emulsion
