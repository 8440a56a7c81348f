#include "passes/nest/verify_nest_written.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

template <typename Kind>
LoopNest edited(const std::function<void(Kind*)>& change) {
  LoopNest nest = linear_nest();
  nest.root = edit<Kind>(nest.root, change);
  return nest;
}

// Each passes all of verify_nest but this.
void refused(const LoopNest& nest, const std::string& cause) {
  EXPECT_INTERNAL_ERROR(verify_nest_written(nest), cause);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), cause);
}

TEST(VerifyNestWritten, AcceptsHandWrittenNests) {
  for (const Extent& rows : {Extent(5), Extent(1), Extent(0), Extent::size("B")}) {
    EXPECT_NO_THROW(verify_nest_written(linear_nest(rows)));
  }
  EXPECT_NO_THROW(verify_nest_written(packed_nest()));
}

TEST(VerifyNestWritten, AcceptsASumOfNothing) {
  EXPECT_NO_THROW(verify_nest_written(edited<Loop>([](Loop* node) {
    if (node->axis == "k") node->extent = int_constant(0);
  })));
}

std::function<void(Loop*)> one_row_of(Part part) {
  return [=](Loop* node) {
    const bool rows = node->stage == "mm" && node->axis == "m";
    if (rows && node->part == part) node->extent = int_constant(1);
  };
}

TEST(VerifyNestWritten, FindsAStartValueThatIsMissing) {
  refused(edited<Loop>(one_row_of(Part::init)),
          "mm reads mm[1, 7], of which no start value is written");
}

TEST(VerifyNestWritten, FindsAnUpdateThatIsMissing) {
  refused(edited<Loop>(one_row_of(Part::update)),
          "y reads mm[1, 7], of which no update is written");
}

// What is stored past the end where loads are masked is any value.
TEST(VerifyNestWritten, FindsAReadOfWhatIsStoredWithoutALoad) {
  EXPECT_NO_THROW(verify_nest(masked_loads_nest()));
  LoopNest nest = masked_loads_nest();
  nest.stages[1].body = read_buffer("a", DType::f32, {axis_value("i") + 1});
  refused(nest, "y reads a[10], of which no value is written");
}

TEST(VerifyNestWritten, FindsARegionThatStartsElsewhere) {
  refused(edited<UopNode>([](UopNode* node) {
            const bool execute = node->kind == UopKind::execute && node->stage == "mm";
            if (execute) node->point[1] = min(node->point[1] + 1, 7);
          }),
          "y reads mm[0, 0], of which no start value is written");
}

// z[i] = x[i] for the first five of eight, and y[i] = z[i] for `read` of them.
LoopNest half_written(const Expr& read) {
  LoopNest nest = copy_nest(8);
  nest.buffers.push_back({"z", DType::f32, BufferRole::internal, {8}, nullptr});
  Stage staged = nest.stages[0];
  staged.name = "z";
  nest.stages[0].body = read;
  nest.stages.insert(nest.stages.begin(), staged);
  const NodePtr load =
      loop_node("z", "i", int_constant(5), uop_node(UopKind::load, "z", Part::pure, {v("z", "i")}));
  nest.root = alloc_node("z", {int_constant(0)}, {int_constant(8)}, block_node({load, nest.root}));
  return nest;
}

TEST(VerifyNestWritten, FindsAValueThatIsMissing) {
  refused(half_written(read_buffer("z", DType::f32, {axis_value("i")})),
          "y reads z[7], of which no value is written");
}

TEST(VerifyNestWritten, AcceptsAReadThatIsNotReached) {
  const Expr i = axis_value("i");
  EXPECT_NO_THROW(
      verify_nest_written(half_written(select(i < 5, read_buffer("z", DType::f32, {i}), 0.0f))));
  EXPECT_NO_THROW(verify_nest_written(half_written(read_buffer("z", DType::f32, {min(i, 4)}))));
  EXPECT_NO_THROW(verify_nest_written(half_written(read_buffer("z", DType::f32, {i % 5}))));
}

// Points that are not sums of loops.
TEST(VerifyNestWritten, FollowsQuotientsAndRemainders) {
  LoopNest nest = linear_nest();
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind != UopKind::execute || node->stage != "mm") return;
    const Expr n = node->point[1];
    node->point[1] = n / 4 * 4 + n % 4;
  });
  EXPECT_NO_THROW(verify_nest_written(nest));
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) {
    if (node->kind != UopKind::execute || node->stage != "mm") return;
    node->point[1] = node->point[1] % 4;
  });
  EXPECT_INTERNAL_ERROR(verify_nest_written(nest), "of which no start value is written");
}

// In the last tile of several.
TEST(VerifyNestWritten, FindsAValueThatIsMissingAtTheLastStepOfTheLoopAround) {
  const Axis i("i", 12), io("io"), ii("ii");
  Tensor q = compute("q", {i}, input("x", f32, {12})(i) * 2.0f);
  Schedule schedule(compute("y", {i}, q(i) * q(i)));
  schedule["y"].split(i, io, ii, 4);
  schedule["q"].compute_at("y", io);
  LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_NO_THROW(verify_nest_written(nest));
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->stage == "q") loop->extent = 4 - axis_value("y.io");
  });
  EXPECT_INTERNAL_ERROR(verify_nest_written(nest), "y reads q[11], of which no value is written");
}

// q and p in the tiles of y, p in vectors: all of a tile of q is read, also beyond its domain.
TEST(VerifyNestWritten, RefusesALoopThatEndsWhereItsReaderGoesOn) {
  const Extent rows = Extent::size("B");
  const Axis i("i", rows), io("io"), ii("ii");
  Tensor q = compute("q", {i}, input("x", f32, {rows})(i) * 2.0f);
  Tensor p = compute("p", {i}, q(i) + 1.0f);
  Schedule schedule(compute("y", {i}, p(i) * p(i)));
  schedule["y"].split(i, io, ii, 4);
  schedule["p"].compute_at("y", io).vectorize(i);
  schedule["q"].compute_at("y", io);
  LoopNest nest = partition_loops(lower(schedule.graph(), schedule), {"y.io"});
  EXPECT_NO_THROW(verify_nest(nest));
  nest.root = edit<Loop>(nest.root, [](Loop* loop) {
    if (loop->stage == "q") loop->extent = size_value("B") % 4;
  });
  EXPECT_INTERNAL_ERROR(verify_nest_written(nest), "p reads q[3], of which no value is written");
}

}  // namespace
}  // namespace emulsion
