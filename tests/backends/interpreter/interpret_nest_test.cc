#include "backends/interpreter/interpret_nest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

using Floats = std::vector<float>;

const Extent B = Extent::size("B");

TensorValues linear_arguments(int64_t rows) {
  return {{"x", random_integers(f32, {rows, 3}, 1)},
          {"w", random_integers(f32, {3, 8}, 2)},
          {"b", random_integers(f32, {8}, 3)}};
}

Floats linear_reference(const TensorValues& arguments) {
  Floats y;
  for (int64_t m = 0; m < arguments.at("x").shape[0]; ++m) {
    for (int64_t n = 0; n < 8; ++n) {
      double total = arguments.at("b").value(n);
      for (int64_t k = 0; k < 3; ++k) {
        total += arguments.at("x").value(m * 3 + k) * arguments.at("w").value(k * 8 + n);
      }
      y.push_back(static_cast<float>(total > 0 ? total : 0));
    }
  }
  return y;
}

Floats run(const LoopNest& nest, const TensorValues& arguments,
           const InterpretOptions& options = {}) {
  return interpret_nest(nest, arguments, options).at("y").to_vector<float>();
}

TensorValue vector_of(const Floats& values) {
  return make_tensor({static_cast<int64_t>(values.size())}, values);
}

// linear_nest() with every uOp of one kind changed.
LoopNest changed(UopKind kind, const std::function<void(UopNode*)>& change) {
  LoopNest nest = linear_nest();
  nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) {
    if (uop->kind == kind) change(uop);
  });
  return nest;
}

TEST(InterpretNest, RunsAFusedNest) {
  TensorValues arguments = linear_arguments(5);
  EXPECT_EQ(run(linear_nest(), arguments), linear_reference(arguments));
}

TEST(InterpretNest, ServesEveryBatchFromOneNest) {
  for (int64_t rows : {0, 1, 2, 3, 17}) {
    TensorValues arguments = linear_arguments(rows);
    EXPECT_EQ(run(linear_nest(B), arguments), linear_reference(arguments)) << rows;
  }
}

TEST(InterpretNest, ParallelLoopsMayRunBackwards) {
  InterpretOptions options;
  options.reverse_parallel = true;
  TensorValues arguments = linear_arguments(5);
  EXPECT_EQ(run(linear_nest(), arguments, options), linear_reference(arguments));
}

TEST(InterpretNest, LoopsMayStartAnywhere) {
  LoopNest nest = copy_nest(3);
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    loop->min = int_constant(1);
    loop->extent = int_constant(2);
  });
  const Floats y = run(nest, {{"x", vector_of({7, 8, 9})}});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 8);
  EXPECT_EQ(y[2], 9);
}

// A loop whose iterations depend on their order, which no lowered nest has: it shows the order.
TEST(InterpretNest, RunsLoopsInOrderUnlessTold) {
  LoopNest nest = reduction_nest(Combiner::sum, 4);
  nest.root = edit<Loop>(nest.root, [](Loop* node) { node->kind = LoopKind::parallel; });
  const TensorValues arguments = {{"x", vector_of({1e8f, -1e8f, 1, 2})}};
  InterpretOptions backwards;
  backwards.reverse_parallel = true;
  EXPECT_EQ(run(nest, arguments), Floats{3});
  EXPECT_EQ(run(nest, arguments, backwards), Floats{0});
}

TEST(InterpretNest, AcceptsAUserWeightAndPacksIt) {
  TensorValues arguments = linear_arguments(5);
  EXPECT_EQ(run(packed_nest(), arguments), linear_reference(arguments));
}

TEST(InterpretNest, AcceptsAWeightThatIsPacked) {
  TensorValues arguments = linear_arguments(5);
  TensorValues packed = apply_packs(packed_nest(), arguments);
  EXPECT_EQ(packed.count("w"), 0u);
  EXPECT_EQ(packed.at("w_packed").shape, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(packed.at("w_packed").value(4), arguments.at("w").value(8));  // [0, 1, 0] is [1, 0]
  EXPECT_EQ(run(packed_nest(), packed), linear_reference(arguments));
}

TEST(InterpretNest, KeepsAWeightThatTheNestStillReads) {
  LoopNest nest = packed_nest();
  nest.buffers.insert(nest.buffers.begin() + 1,
                      {"w", DType::f32, BufferRole::weight, {3, 8}, nullptr});
  EXPECT_EQ(apply_packs(nest, linear_arguments(5)).count("w"), 1u);
}

TEST(InterpretNest, ReducesIntoTheOutput) {
  const TensorValues arguments = {{"x", vector_of({2, -3, 4, 5})}};
  EXPECT_EQ(run(reduction_nest(Combiner::sum, 4), arguments), Floats{8});
  EXPECT_EQ(run(reduction_nest(Combiner::product, 4), arguments), Floats{-120});
  EXPECT_EQ(run(reduction_nest(Combiner::min, 4), arguments), Floats{-3});
  EXPECT_EQ(run(reduction_nest(Combiner::max, 4), arguments), Floats{5});
}

TEST(InterpretNest, AnEmptyReductionIsItsStartValue) {
  EXPECT_EQ(run(reduction_nest(Combiner::sum, B), {{"x", vector_of({})}}), Floats{0});
}

TEST(InterpretNest, AccumulatesInF64WhenAsked) {
  const TensorValues arguments = {{"x", vector_of({1e8f, 1, -1e8f})}};
  LoopNest nest = reduction_nest(Combiner::sum, 3);
  InterpretOptions oracle;
  oracle.f64_accumulation = true;
  EXPECT_EQ(run(nest, arguments), Floats{0});
  EXPECT_EQ(run(nest, arguments, oracle), Floats{1});
}

TEST(InterpretNest, TheOracleAgreesOnWholeNumbers) {
  InterpretOptions oracle;
  oracle.f64_accumulation = true;
  TensorValues arguments = linear_arguments(5);
  EXPECT_EQ(run(linear_nest(), arguments, oracle), linear_reference(arguments));
}

TEST(InterpretNest, WhatNobodyWritesIsPoison) {
  LoopNest nest = copy_nest(3);
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind == UopKind::store) node->guards = guards_of({v("y", "i") != 1});
  });
  Floats y = run(nest, {{"x", vector_of({7, 8, 9})}});
  EXPECT_EQ(y[0], 7);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 9);
}

TEST(InterpretNest, StorageStartsAsPoisonInEveryIteration) {
  // Without the start value the sums are poison, in the second tile as well as in the first.
  LoopNest nest = changed(UopKind::execute, [](UopNode* node) {
    if (node->part == Part::init) node->guards = guards_of({v("y", "mo") < 1});
  });
  nest.stages[1].body = read_buffer("mm", DType::f32, {axis_value("m"), axis_value("n")});
  Floats y = run(nest, linear_arguments(5));
  EXPECT_FALSE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[2 * 8]));
  EXPECT_TRUE(std::isnan(y[4 * 8]));
}

// masked_loads_nest() with as many elements in its storage.
LoopNest masked_loads_nest_of(int64_t elements) {
  LoopNest nest = masked_loads_nest();
  nest.root =
      edit<Alloc>(nest.root, [=](Alloc* alloc) { alloc->extents[0] = int_constant(elements); });
  return nest;
}

const Floats kTen = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(InterpretNest, MasksOnlyTheLoads) {
  const Floats doubled = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18};
  EXPECT_EQ(run(masked_loads_nest(), {{"x", vector_of(kTen)}}), doubled);
}

TEST(InterpretNest, StoresPoisonWhereLoadsAreMasked) {
  LoopNest nest = masked_loads_nest();
  nest.stages[1].body = read_buffer("a", f32, {axis_value("i") + 2});
  const Floats y = run(nest, {{"x", vector_of(kTen)}});
  EXPECT_EQ(y[7], 18);
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST(InterpretNest, NoticesAStorePastTheStorageWhereLoadsAreMasked) {
  EXPECT_INTERNAL_ERROR(run(masked_loads_nest_of(11), {{"x", vector_of(kTen)}}),
                        "a writes a[11]: expected an index from [0], [11] of them on each axis");
}

TEST(InterpretNest, LoadsWhereStoresAreMasked) {
  LoopNest nest = masked_loads_nest();
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    for (Guard& guard : uop->guards) guard.mask = GuardMask::stores;
  });
  EXPECT_INTERNAL_ERROR(run(nest, {{"x", vector_of(kTen)}}), "a reads x[10]");
  nest.stages[0].body = read_buffer("x", f32, {min(axis_value("i"), 9)});
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) { alloc->extents[0] = int_constant(10); });
  EXPECT_EQ(run(nest, {{"x", vector_of(kTen)}}), kTen);
}

TEST(InterpretNest, TakesConstants) {
  LoopNest nest = pointwise_nest(2, read_buffer("c", DType::f32, {axis_value("i")}));
  TensorValue c = vector_of({5, 6});
  nest.buffers.push_back({"c",
                          DType::f32,
                          BufferRole::constant,
                          {2},
                          std::make_shared<const std::vector<uint8_t>>(c.bytes)});
  EXPECT_EQ(run(nest, {{"x", vector_of({0, 0})}}), (Floats{5, 6}));
}

TEST(InterpretNest, UsesARunTimeSizeAsAValue) {
  EXPECT_EQ(run(pointwise_nest(B, cast(f32, size_value("B") + axis_value("i"))),
                {{"x", vector_of({0, 0})}}),
            (Floats{2, 3}));
}

TEST(InterpretNest, RunsEveryComputableType) {
  TensorValue flags = make_tensor({2}, std::vector<bool>{true, false});
  EXPECT_EQ(interpret_nest(copy_nest(2, bool_), {{"x", flags}}).at("y").bytes, flags.bytes);
  TensorValue counts = make_tensor({2}, std::vector<int32_t>{-3, 1 << 30});
  EXPECT_EQ(interpret_nest(copy_nest(2, i32), {{"x", counts}}).at("y").bytes, counts.bytes);
  TensorValue bytes = make_tensor({2}, std::vector<uint8_t>{0, 255});
  EXPECT_EQ(interpret_nest(copy_nest(2, u8), {{"x", bytes}}).at("y").bytes, bytes.bytes);
  TensorValue words = make_tensor({2}, std::vector<int16_t>{-32768, 32767});
  EXPECT_EQ(interpret_nest(copy_nest(2, i16), {{"x", words}}).at("y").bytes, words.bytes);
  TensorValue doubles = make_tensor({2}, std::vector<double>{0.1, 1e300});
  EXPECT_EQ(interpret_nest(copy_nest(2, f64), {{"x", doubles}}).at("y").bytes, doubles.bytes);
}

TEST(InterpretNest, RefusesTypesWithoutKernels) {
  EXPECT_ERROR(interpret_nest(copy_nest(2, bf16), {{"x", zeros(bf16, {2})}}), "got bf16");
}

TEST(InterpretNest, RefusesAMissingWeight) {
  TensorValues arguments = linear_arguments(5);
  arguments.erase("w");
  EXPECT_ERROR(interpret_nest(linear_nest(), arguments), "argument w: expected a tensor f32[3, 8]");
  EXPECT_ERROR(interpret_nest(packed_nest(), arguments),
               "argument w: expected a tensor (or w_packed, already packed), got none");
}

TEST(InterpretNest, RefusesASizeThatNoArgumentGives) {
  LoopNest nest = copy_nest(2, f32);
  nest.sizes = {"B"};
  EXPECT_ERROR(interpret_nest(nest, {{"x", zeros(f32, {2})}}),
               "run-time size B: expected a value, got none");
}

TEST(InterpretNest, RefusesAWrongUserWeight) {
  TensorValues arguments = linear_arguments(5);
  arguments["w"] = zeros(f32, {3, 9});
  EXPECT_ERROR(interpret_nest(packed_nest(), arguments), "argument w, axis 1: expected 8, got 9");
}

TEST(InterpretNest, RefusesAnUnknownArgument) {
  TensorValues arguments = linear_arguments(5);
  arguments["q"] = zeros(f32, {1});
  EXPECT_ERROR(interpret_nest(linear_nest(), arguments), "argument q: expected one of x, w, b");
}

TEST(InterpretNest, RefusesARowTooMany) {
  EXPECT_ERROR(interpret_nest(linear_nest(), linear_arguments(6)),
               "argument x, axis 0: expected 5, got 6");
}

TEST(InterpretNest, NoticesAReadOutsideAnArgument) {
  LoopNest nest = copy_nest(3);
  nest.stages[0].body = read_buffer("x", DType::f32, {axis_value("i") + 1});
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, {{"x", vector_of({1, 2, 3})}}), "y reads x[3]");
}

TEST(InterpretNest, NoticesAWriteOutsideTheOutput) {
  LoopNest nest = changed(UopKind::store, [](UopNode* node) { node->guards.clear(); });
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, linear_arguments(5)), "y writes y[5, 0]");
}

TEST(InterpretNest, NoticesAReadOutsideTheStorage) {
  LoopNest nest = linear_nest();
  nest.stages[1].body = read_buffer("mm", DType::f32, {axis_value("m") + 1, axis_value("n")});
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, linear_arguments(5)), "y reads mm[2, 0]");
}

TEST(InterpretNest, NoticesAWriteOutsideTheStorage) {
  LoopNest nest = linear_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* alloc) { alloc->extents[1] = int_constant(7); });
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, linear_arguments(5)), "mm writes mm[0, 7]");
}

TEST(InterpretNest, NoticesStorageThatIsNotLive) {
  LoopNest nest = linear_nest();
  nest.root = child_of(child_of(child_of(nest.root)), 2);  // y.mi, without y.mo and the alloc
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind == UopKind::store) {
      node->point[0] = v("y", "mi");
      node->guards.clear();
    }
  });
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, linear_arguments(5)),
                        "y reads mm[0, 0]: no storage is live here");
}

TEST(InterpretNest, NoticesAVariableThatIsNotInScope) {
  LoopNest nest = copy_nest(3);
  nest.root = child_of(nest.root);
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, {{"x", vector_of({1, 2, 3})}}),
                        "stage y: y.i is not in scope");
}

TEST(InterpretNest, NoticesAPointOfAnotherRank) {
  LoopNest nest = changed(UopKind::store, [](UopNode* node) { node->point.pop_back(); });
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, linear_arguments(5)), "a point of 1 for 2 axes");
}

TEST(InterpretNest, NoticesAnAllocInsideAnother) {
  LoopNest nest = linear_nest();
  nest.root = alloc_node("mm", {int_constant(0), int_constant(0)},
                         {int_constant(5), int_constant(8)}, nest.root);
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, linear_arguments(5)), "alloc of mm inside another");
}

// z = x, then y[i] = z[3 - i], z in memory of its own or in that of y.
LoopNest turned_round(const std::string& output, const Expr& first = int_constant(0)) {
  LoopNest nest = copy_nest(4);
  nest.buffers.push_back({"z", DType::f32, BufferRole::internal, {4}, nullptr});
  Stage staged = nest.stages[0];
  staged.name = "z";
  nest.stages[0].body = read_buffer("z", DType::f32, {3 - axis_value("i")});
  nest.stages.insert(nest.stages.begin(), staged);
  const NodePtr load =
      loop_node("z", "i", int_constant(4), uop_node(UopKind::load, "z", Part::pure, {v("z", "i")}));
  nest.root = alloc_node("z", {first}, {int_constant(4)}, block_node({load, nest.root}));
  nest.root = edit<Alloc>(nest.root, [&](Alloc* alloc) { alloc->output = output; });
  return nest;
}

// What y has overwritten is gone, as it is in a kernel.
TEST(InterpretNest, StorageInAnOutputIsMemoryOfTheOutput) {
  const TensorValues x = {{"x", vector_of({1, 2, 3, 4})}};
  EXPECT_EQ(run(turned_round(""), x), (Floats{4, 3, 2, 1}));
  EXPECT_EQ(run(turned_round("y"), x), (Floats{4, 3, 3, 4}));
}

// Even what the output has from before: nothing of it is left where storage begins.
TEST(InterpretNest, StorageInAnOutputStartsAsPoison) {
  LoopNest nest = turned_round("y");
  const NodePtr before = edit<UopNode>(copy_nest(4).root, [](UopNode* uop) {
    uop->body = read_buffer("x", DType::f32, {axis_value("i")});
  });
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    if (uop->stage == "z") uop->guards = guards_of({v("z", "i") < 2});
  });
  nest.root = block_node({before, nest.root});
  const Floats y = run(nest, {{"x", vector_of({1, 2, 3, 4})}});
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << y[0] << ", " << y[1];
}

// The oracle keeps sums alone as doubles, for which an output has no room.
TEST(InterpretNest, WhatIsNoSumIsInItsOutputForTheOracleToo) {
  InterpretOptions oracle;
  oracle.f64_accumulation = true;
  const TensorValues x = {{"x", vector_of({1, 2, 3, 4})}};
  EXPECT_EQ(run(turned_round("y"), x, oracle), (Floats{4, 3, 3, 4}));
}

TEST(InterpretNest, NoticesStorageBeyondItsOutput) {
  const TensorValues x = {{"x", vector_of({1, 2, 3, 4})}};
  EXPECT_INTERNAL_ERROR(interpret_nest(turned_round("y", int_constant(5)), x),
                        "alloc of z in output y: from index 5 on, of 4 from 0 on");
  EXPECT_INTERNAL_ERROR(interpret_nest(turned_round("y", int_constant(-1)), x),
                        "alloc of z in output y: from index -1 on, of 4 from 0 on");
  // Storage that reaches past the end has no more than the output.
  EXPECT_INTERNAL_ERROR(interpret_nest(turned_round("y", int_constant(1)), x),
                        "expected an index from [1], [3] of them on each axis");
}

TEST(InterpretNest, NoticesAMissingTree) {
  LoopNest nest = copy_nest(3);
  nest.root = nullptr;
  EXPECT_INTERNAL_ERROR(interpret_nest(nest, {{"x", vector_of({1, 2, 3})}}), "nest y has no root");
}

}  // namespace
}  // namespace emulsion
