// What Halide's passes and ours make of an emitted nest: how vectors past an end are loaded.

#include "backends/halide/lower_statement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

// How the vectors of a kernel are loaded.
struct VectorLoads : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int dense = 0, masked = 0, gathered = 0;

  void visit(const hi::Load* op) override {
    hi::IRVisitor::visit(op);
    if (op->type.lanes() < 2) return;
    if (op->index.as<hi::Broadcast>()) return;  // one element
    const auto* ramp = op->index.as<hi::Ramp>();
    const bool is_dense = ramp != nullptr && hi::is_const_one(ramp->stride);
    ++(!is_dense ? gathered : hi::is_const_one(op->predicate) ? dense : masked);
  }
};

// How they are stored.
struct VectorStores : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int whole = 0, masked = 0;

  void visit(const hi::Store* op) override {
    hi::IRVisitor::visit(op);
    if (op->value.type().lanes() < 2) return;
    ++(hi::is_const_one(op->predicate) ? whole : masked);
  }
};

template <typename Visitor>
Visitor visited(const LoopNest& nest, const char* target) {
  const Halide::Module module = kernel_module(nest, "kernel", kernel_target(Target::parse(target)),
                                              Halide::LinkageType::ExternalPlusArgv, {});
  Visitor visitor;
  for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&visitor);
  return visitor;
}

VectorLoads loads_of(const LoopNest& nest, const char* target) {
  return visited<VectorLoads>(nest, target);
}

VectorLoads loads_of(const Tensor& y, const char* target) {
  return loads_of(run_pipeline(Graph(y), Target::parse(target)).nest, target);
}

Tensor product(DType type, const Extent& columns) {
  return matmul(input("x", type, {64, 20}), input("w", type, {20, columns}));
}

TEST(LowerStatement, ThePanelAtTheEndIsLoadedUnderAMask) {
  for (const char* target : {"x86-64-v3,cores=1", "x86-64-v4,cores=1"}) {
    for (DType type : {f32, f64, i32}) {
      const VectorLoads loads = loads_of(product(type, Extent::size("N")), target);
      EXPECT_EQ(loads.gathered, 0) << target;
      EXPECT_GT(loads.masked, 0) << target;
      EXPECT_GT(loads.dense, 0) << target;
    }
  }
}

TEST(LowerStatement, TheEndOfARowThatIsSummedUpIsLoadedUnderAMask) {
  for (const char* target : {"x86-64-v3,cores=1", "x86-64-v4,cores=1"}) {
    const Tensor x = input("x", f32, {4, Extent::size("N")});
    for (const Tensor& y : {sum(x, {1}), softmax(x)}) {
      const VectorLoads loads = loads_of(y, target);
      EXPECT_EQ(loads.gathered, 0) << target;
      EXPECT_GT(loads.masked, 0) << target;
      EXPECT_GT(loads.dense, 0) << target;
    }
  }
}

// One clamp is that of several loads, and so is an index that has a clamp in it.
TEST(LowerStatement, TheEndsOfRowsThatAreSummedUpTogetherAreLoadedUnderMasks) {
  const Extent rows = 12, columns = Extent::size("N");  // so few that none has a lane of its own
  const Axis m("m", rows), i("i", columns), n("n", columns);
  const Tensor x = input("x", f32, {rows, columns}), z = input("z", f32, {rows, columns}),
               w = input("w", f32, {columns}), s = input("s", f32, {columns, columns});
  for (const char* target : {"x86-64-v3,cores=1", "x86-64-v4,cores=1"}) {
    for (const Tensor& y :
         {compute("y", {m}, sum(n, x(m, n) * w(n))), compute("y", {m}, sum(n, x(m, n) * z(m, n))),
          compute("y", {m}, sum({i, n}, x(m, i) * s(i, n) * x(m, n)))}) {
      const VectorLoads loads = loads_of(y, target);
      EXPECT_EQ(loads.gathered, 0) << target;
      EXPECT_GT(loads.masked, 0) << target;
      EXPECT_GT(loads.dense, 0) << target;
    }
  }
}

// A masked store of AVX takes some processors as long as a dozen others.
TEST(LowerStatement, TheEndOfARowIsStoredInPartsWhereMaskedStoresTakeLong) {
  for (DType type : {f32, f64, i32}) {
    const Graph graph(relu(input("x", type, {Extent::size("W")})));
    const auto stores_for = [&](const char* target) {
      return visited<VectorStores>(run_pipeline(graph, Target::parse(target)).nest, target);
    };
    const VectorStores parts = stores_for("x86-64-v3,cores=1");
    const VectorStores masked = stores_for("x86-64-v4,cores=1");
    EXPECT_EQ(parts.masked, 0);
    EXPECT_GT(parts.whole, masked.whole);
    EXPECT_GT(masked.masked, 0);
  }
}

// What is at the end of a row of sums is loaded once for all rows that are added at a time.
TEST(LowerStatement, SumsUnderAMaskAreKeptWhileRowsAreAdded) {
  const Graph graph(sum(input("x", f32, {16, Extent::size("W")}), {0}));
  const LoopNest nest = run_pipeline(graph, Target::parse("x86-64-v4,cores=1")).nest;
  EXPECT_EQ(visited<VectorStores>(nest, "x86-64-v4,cores=1").masked, 2);  // the zeros, and the sums
}

// AVX-512 masks bytes, too.
TEST(LowerStatement, TheEndOfARowOfBytesIsLoadedUnderAMask) {
  for (DType type : {i8, u8, i16}) {
    const VectorLoads loads = loads_of(product(type, Extent::size("N")), "x86-64-v4,cores=1");
    EXPECT_EQ(loads.gathered, 0);
    EXPECT_GT(loads.masked, 0);
  }
}

TEST(LowerStatement, WithoutAnEndThereIsNoMask) {
  for (const char* target : {"x86-64-linux,cores=1", "x86-64-v4,cores=1"}) {
    const VectorLoads loads = loads_of(product(f32, 64), target);
    EXPECT_EQ(loads.gathered + loads.masked, 0) << target;
  }
}

// A masked load would be a branch for each lane.
TEST(LowerStatement, WhereNoInstructionMasksElementsAreGathered) {
  EXPECT_GT(loads_of(product(f32, Extent::size("N")), "x86-64-linux,cores=1").gathered, 0);
  EXPECT_GT(loads_of(product(i8, Extent::size("N")), "x86-64-v3,cores=1").gathered, 0);
}

// Where one thing is joined to another, and at both borders, lanes read the last or the first one.
TEST(LowerStatement, WhatIsAtTheEdgesOfTensorsIsLoadedUnderMasks) {
  const Extent rows = Extent::size("H"), columns = Extent::size("W");
  for (const auto& [type, target] : {std::pair(f32, "x86-64-v3,cores=1"),
                                     {f32, "x86-64-v4,cores=1"},
                                     {u8, "x86-64-v4,cores=1"}}) {
    const Tensor x = input("x", type, {rows, columns}), z = input("z", type, {rows, columns});
    for (const Tensor& y : {concat({x, z}, 1), pad(x, {2, 3}, {2, 3}, 0)}) {
      const VectorLoads loads = loads_of(y, target);
      EXPECT_EQ(loads.gathered, 0) << target;
      EXPECT_GT(loads.masked, 0) << target;
    }
  }
}

// Halide cannot mask a vector of an odd number of lanes.
TEST(LowerStatement, AnOddNumberOfLanesIsGathered) {
  const Axis i("i", 90);
  const Expr last = extent_value(Extent::size("B"));
  const Tensor y = compute("y", {i}, input("x", f32, {Extent::size("B") + 1})(min(Expr(i), last)));
  for (const int64_t lanes : {9, 10}) {
    Schedule schedule(y);
    schedule[y].vectorize(i, lanes);
    const VectorLoads loads = loads_of(lower(Graph(y), schedule), "x86-64-v4,cores=1");
    EXPECT_EQ(loads.masked > 0, lanes == 10);
    EXPECT_EQ(loads.gathered > 0, lanes == 9);
  }
}

// With what is between.
TEST(LowerStatement, AFewElementsApartUpToAnEndAreLoadedUnderMasks) {
  const Axis i("i", 64), j("j", Extent::size("N")), k("k", 3);
  for (const char* target : {"x86-64-v3,cores=1", "x86-64-v4,cores=1"}) {
    for (const int step : {1, 2, 3, 4, 5}) {
      const Tensor x = input("x", f32, {40 * step + 1});
      const Tensor y = compute("y", {i}, x(min(Expr(i), 40) * step));
      Schedule schedule(y);
      schedule[y].vectorize(i, 16);
      const VectorLoads loads = loads_of(lower(Graph(y), schedule), target);
      EXPECT_EQ(loads.masked > 0, step < 5) << step;
      EXPECT_EQ(loads.gathered > 0, step == 5) << step;
    }
    const Tensor x = input("x", f32, {2 * j.extent() + 1});
    const VectorLoads pooled =
        loads_of(compute("y", {j}, reduce_max(k, x(2 * Expr(j) + k))), target);
    EXPECT_EQ(pooled.gathered, 0) << target;
    EXPECT_GT(pooled.masked, 0) << target;
  }
}

// Not along the vector: what is read is not together.
TEST(LowerStatement, WhatIsNotTogetherIsGathered) {
  const Axis i("i", 64);
  const Expr at = max(min(63 - min(Expr(i), 40), 90), 0);
  const VectorLoads loads =
      loads_of(compute("y", {i}, input("x", f32, {91})(at)), "x86-64-v4,cores=1");
  EXPECT_EQ(loads.masked, 0);
  EXPECT_GT(loads.gathered, 0);
}

// The masks of loads of one element, which all lanes read.
struct SharedMasks : hi::IRVisitor {
  using hi::IRVisitor::visit;
  std::vector<Halide::Expr> masks;

  void visit(const hi::Load* op) override {
    hi::IRVisitor::visit(op);
    if (op->type.is_scalar() && !hi::is_const_one(op->predicate)) masks.push_back(op->predicate);
  }
};

// z = a + 1, a = x * one, of which the loads are masked.
std::vector<Halide::Expr> shared_masks(const std::function<void(StageSchedule* a)>& schedule) {
  const Axis i("i", 9);
  const Tensor one = input("one", f32, {}), x = input("x", f32, {9});
  const Tensor a = compute("a", {i}, x(i) * one()), z = compute("z", {i}, a(i) + 1.0f);
  Schedule all(z);
  schedule(&all[a]);
  const Target target = Target::parse("x86-64-v3,cores=1");
  const Halide::Module module = kernel_module(lower(Graph(z), all), "kernel", kernel_target(target),
                                              Halide::LinkageType::ExternalPlusArgv, {});
  SharedMasks found;
  for (const hi::LoweredFunc& function : module.functions()) {
    hi::substitute_in_all_lets(function.body).accept(&found);
  }
  return found.masks;
}

// Of t = inner * 3 + outer, by four, the lanes 1 and 2 of the last vector are inside, and no
// others.
TEST(LowerStatement, WhatAllLanesReadIsLoadedWhereAnyOfThemIsInside) {
  const std::vector<Halide::Expr> masks = shared_masks([](StageSchedule* a) {
    const Axis i("i"), outer("outer"), inner("inner"), t("t");
    a->split(i, outer, inner, 4, Tail::predicate_loads).reorder({outer, inner});
    a->fuse(inner, outer, t).vectorize(t, 4);
  });
  ASSERT_EQ(masks.size(), 1U);
  for (int vector = 0; vector < 3; ++vector) {
    EXPECT_TRUE(hi::is_const_one(hi::simplify(hi::substitute("e_a.t", vector, masks[0]))));
  }
}

// The loops of the function that has most, and how many functions there are.
struct Functions {
  size_t count = 0;
  int most_loops = 0;
};

struct CountLoops : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int loops = 0;

  void visit(const hi::For* op) override {
    ++loops;
    hi::IRVisitor::visit(op);
  }
};

Functions functions_of(const Tensor& y) {
  const Target target = Target::parse("x86-64-v3,cores=1");
  const LoopNest nest = run_pipeline(Graph(y), target).nest;
  const Halide::Module module = kernel_module(nest, "kernel", kernel_target(target),
                                              Halide::LinkageType::ExternalPlusArgv, {});
  Functions functions{module.functions().size(), 0};
  for (const hi::LoweredFunc& function : module.functions()) {
    CountLoops all;
    function.body.accept(&all);
    functions.most_loops = std::max(functions.most_loops, all.loops);
  }
  return functions;
}

Tensor joined(int count, const Extent& rows) {
  std::vector<Tensor> parts;
  for (int i = 0; i < count; ++i) {
    parts.push_back(input("x" + std::to_string(i), f32, {rows, 4}));
  }
  return concat(parts, 0);
}

// LLVM would take a time that grows with the square of their number.
TEST(LowerStatement, ManyLoopsAreOfFunctionsOfTheirOwn) {
  for (const Extent& rows : {Extent(4), Extent::size("B")}) {
    const Functions few = functions_of(joined(50, rows)), many = functions_of(joined(300, rows));
    EXPECT_EQ(few.count, 1U);
    EXPECT_EQ(many.count, 1U + 300 / 64);
    EXPECT_LE(many.most_loops, 64);
  }
}

// The loops of a kernel by what they are named after.
struct LoopsOf : hi::IRVisitor {
  using hi::IRVisitor::visit;
  explicit LoopsOf(const std::string& name) : named(name) {}
  std::string named;
  int count = 0;

  void visit(const hi::For* op) override {
    hi::IRVisitor::visit(op);
    if (op->name.find(named) != std::string::npos) ++count;
  }
};

// Behind the greatest i32 a loop would go on at the lowest one.
TEST(LowerStatement, WhatDataSayCutsNoLoop) {
  const Axis k("k", Extent::size("K")), d("d", Extent::size("D")), j("j", Extent::size("N"));
  const Tensor which = input("which", i32, {Extent::size("N")});
  const Tensor x = input("x", f32, {Extent::size("N"), Extent::size("D")});
  Func total("total");
  total(k, d) = sum(j, select(which(j) <= k, x(j, d), 0.0f));
  Schedule schedule(total);
  schedule[total].reorder({d, k, j}).vectorize(d, 4);
  const Halide::Module module = kernel_module(run_pipeline(Graph(total), schedule), "kernel",
                                              kernel_target(Target::parse("x86-64-v3,cores=1")),
                                              Halide::LinkageType::ExternalPlusArgv, {});
  LoopsOf loops("total.k");
  for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&loops);
  EXPECT_EQ(loops.count, 2);  // of the start values and of the sums
}

// Loads and stores whose first lane in memory is a number below zero, which ends code generation.
struct PlacesBelowZero : hi::IRVisitor {
  using hi::IRVisitor::visit;
  int backwards = 0, stores = 0, below_zero = 0;

  void visit(const hi::Load* op) override {
    hi::IRVisitor::visit(op);
    backwards += count(op->index) < 0 ? 1 : 0;
  }
  void visit(const hi::Store* op) override {
    hi::IRVisitor::visit(op);
    stores += count(op->index) != 0 ? 1 : 0;
  }

 private:
  // The stride of a vector.
  int64_t count(const Halide::Expr& index) {
    const auto* ramp = index.as<hi::Ramp>();
    const auto stride = ramp ? hi::as_const_int(ramp->stride) : std::nullopt;
    if (!stride) return 0;
    const auto base = hi::as_const_int(ramp->base);
    below_zero += base && *base + std::min<int64_t>(*stride, 0) * (ramp->lanes - 1) < 0 ? 1 : 0;
    return *stride;
  }
};

// A row that is read backwards: the last vector ends, in memory, in front of it.
TEST(LowerStatement, NoNumberBelowZeroIsThePlaceOfALoad) {
  const Axis i("i", 7), o("o"), lane("lane");
  for (DType type : {f32, f64}) {
    const Tensor x = input("x", type, {7});
    const Graph graph(compute("y", {i}, x(6 - Expr(i))));
    Schedule schedule(graph);
    schedule["y"].split(i, o, lane, 4, Tail::predicate).vectorize(lane).unroll(o);
    const Halide::Module module = kernel_module(lower(graph, schedule), "kernel",
                                                kernel_target(Target::parse("x86-64-v3,cores=1")),
                                                Halide::LinkageType::ExternalPlusArgv, {});
    PlacesBelowZero places;
    for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&places);
    EXPECT_GE(places.backwards, 1);
    EXPECT_EQ(places.below_zero, 0);
  }
}

// A case that no size comes to: where B + 2 is not 2 or more, but 1 or more, B is -1.
TEST(LowerStatement, NoNumberBelowZeroIsThePlaceOfAStore) {
  const Extent size = Extent::size("B") + 2;
  const Axis i("i", size), o("o"), lane("lane");
  const Graph graph(compute("y", {i}, input("x", f64, {size})(i) * 2.0));
  Schedule schedule(graph);
  schedule["y"].specialize(size_value("B") + 2 >= 2).split(i, o, lane, 2, Tail::shift_inwards);
  schedule["y"].vectorize(lane);
  schedule["y"].specialize(size_value("B") + 2 >= 1).split(i, o, lane, 2, Tail::shift_inwards);
  schedule["y"].vectorize(lane);
  for (const char* target : {"x86-64-v2,cores=1", "x86-64-v4,cores=1"}) {
    const Halide::Module module =
        kernel_module(lower(graph, schedule), "kernel", kernel_target(Target::parse(target)),
                      Halide::LinkageType::ExternalPlusArgv, {});
    PlacesBelowZero places;
    for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&places);
    EXPECT_GE(places.stores, 2);
    EXPECT_EQ(places.below_zero, 0);
    EXPECT_FALSE(module.compile_to_buffer().data() == nullptr);
  }
}

// Of a place that data say one step is left.
TEST(LowerStatement, AChosenPlaceNeedsNoLoop) {
  const Axis k("k", Extent::size("K")), j("j", Extent::size("N"));
  const Tensor which = input("which", i32, {Extent::size("N")});
  Func count("count");
  count(k) = sum(j, cast(i32, which(j) == k));
  Schedule schedule(count);
  schedule[count].reorder({k, j});
  const Halide::Module module = kernel_module(run_pipeline(Graph(count), schedule), "kernel",
                                              kernel_target(Target::parse("x86-64-v3,cores=1")),
                                              Halide::LinkageType::ExternalPlusArgv, {});
  LoopsOf loops("count.k");
  for (const hi::LoweredFunc& function : module.functions()) function.body.accept(&loops);
  EXPECT_EQ(loops.count, 1);  // of the start values
}

}  // namespace
}  // namespace emulsion
