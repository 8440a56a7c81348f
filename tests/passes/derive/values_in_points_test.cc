// Values behind sums that one operation reads elsewhere, as a norm of groups of channels does that
// is reshaped to groups and back: which are computed where they are read, which are stored, and
// that the nests compute what the graphs say.

#include "passes/derive/values_in_points.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/read_through.h"
#include "passes/derive/share_loops.h"
#include "passes/derive/values_in_sums.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;

// What is stored, the same on every machine; the nests are right.
Names stored(const Graph& graph, double tolerance = 1e-3) {
  Names found;
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      EXPECT_TRUE(derives(graph, target, {0, 1, 5}, tolerance)) << level;
      const Schedule schedule = derive_schedule(graph, target);
      Names here;
      for (const Stage& stage : lower(graph, schedule).stages) {
        const OpPtr* op = graph.find(stage.name);
        if (op != nullptr && is_computed(**op)) here.insert(stage.name);
      }
      EXPECT_TRUE(found.empty() || here == found) << level << cores << "\n" << to_string(schedule);
      found = here;
    }
  }
  return found;
}

constexpr int kRows = 6, kColumns = 11, kChannels = 32, kGroups = 8;
Tensor pictures() { return input("x", f32, {Extent::size("N"), kRows, kColumns, kChannels}); }
Tensor groups_of(const Tensor& x, const std::string& name) {
  return reshape(x, {x.shape()[0], kRows * kColumns, kGroups, kChannels / kGroups}, name);
}

// Of each group, less its mean.
Tensor centred(const Tensor& groups) {
  return sub(groups, mean(groups, {1, 3}, true, "mean"), "centred");
}

Tensor scaled(const Tensor& normal) {
  return add(mul(normal, input("gamma", f32, {kChannels})), input("beta", f32, {kChannels}), "y");
}

// Group norm as frameworks write it: pictures are reshaped to groups, and back.
Graph group_norm() {
  const Tensor x = pictures(), less = centred(groups_of(x, "groups"));
  const Tensor variance = mean(mul(less, less, "squares"), {1, 3}, true, "variance");
  const Tensor normal = div(less, sqrt(add(variance, 1e-5F), "deviation"), "normal");
  return Graph(scaled(reshape(normal, x.shape(), "back")));
}

TEST(ValuesInPoints, ANormOfGroupsStoresWhatAGroupHasOneOf) {
  const Graph graph = group_norm();
  const Names names = stored(graph);
  for (const char* name : {"groups", "centred", "squares", "normal", "back"}) {
    EXPECT_EQ(names.count(name), 0U) << name;
  }
  EXPECT_EQ(names.count("y"), 1U);
  EXPECT_EQ(names.count("deviation"), 1U);
}

// One stage goes through each picture for a mean, one for the deviation, one writes the result.
TEST(ValuesInPoints, SumsOfGroupsGoThroughWholeVectors) {
  const std::string text = to_string(derive_schedule(group_norm(), target_of("x86-64-v4", 1)));
  EXPECT_TRUE(has(text,
                  "variance_sum_rows.fuse(i2, r3, flat)\n"
                  "variance_sum_rows.split(flat, flat, lane, 16)\n"))
      << text;
}

TEST(ValuesInPoints, OneReaderOfWhatASumMade) {
  const Tensor x = pictures(), groups = groups_of(x, "groups");
  const Tensor less = sub(groups, reduce_max(groups, {1, 3}, true, "highest"), "less");
  EXPECT_EQ(stored(Graph(reshape(less, x.shape(), "y"))), (Names{"highest", "y"}));
}

TEST(ValuesInPoints, TheLedgerSaysSo) {
  FusionReport report;
  share_loops(fuse_epilogues(group_norm()), target_of("x86-64-v3", 1), share_all_loops, &report);
  const std::string text = to_string(report);
  EXPECT_TRUE(has(text, "moves read through, centred -> squares, normal: fused\n")) << text;
  EXPECT_TRUE(has(text, "moves read through, normal -> ")) << text;
}

// --- what stays stored ---------------------------------------------------------------------------

TEST(ValuesInPoints, NotAnOutput) {
  const Tensor x = pictures(), less = centred(groups_of(x, "groups"));
  EXPECT_EQ(stored(Graph({less, reshape(less, x.shape(), "y")})).count("centred"), 1U);
}

// It adds work: a choice of its own (recompute_producers.h).
TEST(ValuesInPoints, NotWhatSeveralReadAndNoSum) {
  const Tensor x = pictures(), less = centred(groups_of(x, "groups"));
  const Tensor flat = reshape(less, {Extent::size("N"), kRows * kColumns * kChannels}, "flat");
  EXPECT_EQ(stored(Graph({reshape(less, x.shape(), "y"), flat})).count("centred"), 1U);
}

TEST(ValuesInPoints, NotWhatSeveralReadAndTakesLong) {
  const Tensor x = pictures(), groups = groups_of(x, "groups");
  const Tensor e = div(groups, reduce_max(groups, {1, 3}, true, "highest"), "e");
  const Graph graph({sum(e, {1, 3}, false, "s"), reshape(e, x.shape(), "y")});
  EXPECT_EQ(stored(graph).count("e"), 1U);
}

TEST(ValuesInPoints, NotWhatIsReadTwice) {
  const Extent size = Extent::size("N");
  const Axis n("n", size), i("i", 64), j("j", 62);
  const Tensor x = input("x", f32, {size, 64, 64});
  const Tensor less = sub(x, reduce_max(x, {1}, true, "highest"), "less");
  const Graph graph(compute("y", {n, i, j}, less(n, i, j) + less(n, i, Expr(j) + 2)));
  EXPECT_EQ(stored(graph).count("less"), 1U);
}

TEST(ValuesInPoints, NotForMoreElementsThanItHas) {
  const Extent size = Extent::size("N");
  const Axis n("n", size), k("k", 3), i("i", 300), j("j", 64);
  const Tensor x = input("x", f32, {size, 300, 64});
  const Tensor less = sub(x, reduce_max(x, {1}, true, "highest"), "less");
  const Graph graph(compute("y", {n, k, i, j}, less(n, i, j)));
  EXPECT_EQ(stored(graph).count("less"), 1U);
}

// A fusion that the config does not have is not made here.
TEST(ValuesInPoints, NotAtTheAxesOfItsReader) {
  const Tensor x = input("x", f32, {Extent::size("N"), 300, 64});
  const Tensor less = sub(x, reduce_max(x, {1}, true, "highest"), "less");
  const Graph graph(relu(less, "y"));
  EXPECT_EQ(values_in_sums(graph, target_of("x86-64-v3", 1), {}).inlined, Names{});
}

TEST(ValuesInPoints, NotWhatThePolicyDoesNotWant) {
  const Graph graph = fuse_epilogues(group_norm());
  const Target target = target_of("x86-64-v3", 1);
  const ReadThrough through = read_through(graph, target);
  const auto unwanted = [](const Op& value) { return value.name != "normal"; };
  EXPECT_EQ(values_in_sums(through.graph, target, {}).inlined.count("normal"), 1U);
  EXPECT_EQ(values_in_sums(through.graph, target, {}, unwanted).inlined.count("normal"), 0U);
}

}  // namespace
}  // namespace emulsion
