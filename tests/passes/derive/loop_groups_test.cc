// The loop groups that a graph carries, read back: as they were decided, or refused.

#include "passes/derive/loop_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/derive/attention_graphs.h"
#include "tests/passes/derive/column_graphs.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/derive/stencil_graphs.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=1");

// The groups point into the graphs.
struct ReadBack {
  Graph shared;
  ReadThrough through;
  LoopGroups groups;
};

ReadBack read_back(const Graph& graph, const Target& target = kV3) {
  const Graph shared = share_loops(fuse_epilogues(graph), target);
  const ReadThrough through = read_through(shared, target);
  return {shared, through, read_loop_groups(shared, through, target)};
}

// The schedule of a graph that carries groups, from its text.
std::string schedule_of(const std::string& text, const Target& target = kV3) {
  const Graph shared = parse_graph(text);
  return to_string(derive_stages(shared, shared, target));
}

TEST(LoopGroups, RowsAsTheyWereDecided) {
  for (const auto& [name, graph] : row_graphs(64, 100)) {
    const Graph grouped = fuse_epilogues(graph);
    const ReadThrough through = read_through(grouped, kV3);
    const std::vector<RowGroup> decided = row_groups(through.graph, kV3);
    const ReadBack back = read_back(graph);
    const LoopGroups& read = back.groups;
    ASSERT_EQ(read.rows.size(), 1U) << name;
    ASSERT_EQ(decided.size(), 1U) << name;
    ASSERT_EQ(read.rows[0].members.size(), decided[0].members.size()) << name;
    for (size_t i = 0; i < decided[0].members.size(); ++i) {
      const RowGroup::Member &was = decided[0].members[i], &is = read.rows[0].members[i];
      EXPECT_EQ(is.op->name, was.op->name) << name;
      EXPECT_EQ(is.axes, was.axes) << name;
      EXPECT_EQ(is.whole_rows, was.whole_rows) << name;
      EXPECT_EQ(is.is_inline, was.is_inline) << name;
    }
  }
}

TEST(LoopGroups, RowsWithResultsAsTheyWereDecided) {
  const Tensor y = softmax(input("x", f32, {64, 96}), -1, "y");
  const Graph grouped = fuse_epilogues(Graph({y, relu(y, "z")}));
  const std::vector<RowGroup> decided = row_groups(grouped, kV3);
  const ReadBack back = read_back(grouped);
  const LoopGroups& read = back.groups;
  ASSERT_EQ(read.rows.size(), 1U);
  ASSERT_EQ(decided.size(), 1U);
  ASSERT_EQ(read.rows[0].members.size(), decided[0].members.size());
  EXPECT_TRUE(has_results(decided[0]));
  for (size_t i = 0; i < decided[0].members.size(); ++i) {
    const RowGroup::Member &was = decided[0].members[i], &is = read.rows[0].members[i];
    EXPECT_EQ(is.op->name, was.op->name);
    EXPECT_EQ(is.is_kept, was.is_kept) << was.op->name;
    EXPECT_EQ(is.is_with_reader, was.is_with_reader) << was.op->name;
  }
}

TEST(LoopGroups, NotAResultOfOtherRows) {
  const std::string text =
      "emulsion graph 1\n"
      "input x: f32[16, 96]\n"
      "fused_rows y over [i] {\n"
      "  s[i: 16] = sum(k: 96) x[i, k]\n"
      "  z[i: 16, k: 96] = x[i, k] + 1f\n"
      "  y[i: 16, k: 96] = x[i, k] - s[i]\n"
      "}\noutput y\noutput z\n";
  EXPECT_NE(schedule_of(text).find("\nz.compute_at(y, i)\n"), std::string::npos);
  std::string other = text;
  other.replace(other.find("z[i: 16"), 7, "z[i: 12");
  EXPECT_ERROR(schedule_of(other),
               "the loop group of y: expected z to have as many rows as y; legal: a graph without");
  other = text;
  other.replace(other.find("z[i: 16, k: 96] = x[i, k] + 1f"), 30,
                "z[i: 16, k: 96] = sum(w: 3) x[i, min(k + w, 95)]");
  EXPECT_ERROR(schedule_of(other), "expected z to combine no windows");
  other = text;
  other.replace(other.find("x[i, k] - s[i]"), 14, "z[15 - i, k] - s[i]");
  EXPECT_ERROR(schedule_of(other), "the loop group of y: expected reads of z at the same i");
}

TEST(LoopGroups, RowsInPiecesAsTheyWereDecided) {
  for (const auto& [name, graph] : piece_graphs(2, 4, 8, 6)) {
    const Graph shared = share_loops(fuse_epilogues(graph), kV3);
    ASSERT_EQ(shared.loop_groups().size(), 1U) << name;
    const LoopGroups read = read_loop_groups(shared, read_through(shared, kV3), kV3);
    ASSERT_EQ(read.rows.size(), 1U) << name;
    EXPECT_EQ(read.rows[0].axes(), shared.loop_groups()[0].axes) << name;
    EXPECT_EQ(read.rows[0].members.size(), shared.loop_groups()[0].members.size()) << name;
    EXPECT_EQ(schedule_of(to_string(shared)), to_string(derive_stages(shared, shared, kV3)))
        << name;
  }
}

TEST(LoopGroups, NotRowsInPiecesOfAnotherRow) {
  const std::string text =
      "emulsion graph 1\n"
      "input x: f32[4, 8, 64]\n"
      "fused_rows y over [c] {\n"
      "  p[n: 4, c: 8, k: 64] = exp(x[n, c, k])\n"
      "  s[c: 8] = sum(n: 4, k: 64) p[n, c, k]\n"
      "  y[n: 4, c: 8, k: 64] = p[n, c, k] / s[c]\n"
      "}\noutput y\n";
  EXPECT_NE(schedule_of(text).find("y.reorder(n, c)"), std::string::npos) << schedule_of(text);
  std::string other = text;
  other.replace(other.find("/ s[c]"), 6, "/ s[7 - c]");
  EXPECT_ERROR(schedule_of(other), "the loop group of y: expected reads of s at the same c");
  other = text;
  other.replace(other.find("64) p[n, c, k]"), 14, "64) p[n, 7 - c, k]");
  EXPECT_ERROR(schedule_of(other), "the loop group of y: expected reads of p at the same c");
}

TEST(LoopGroups, ColumnsAsTheyWereDecided) {
  for (const auto& [name, graph] : column_graphs(5, 64)) {
    const Graph grouped = fuse_epilogues(graph);
    const ReadThrough through = read_through(grouped, kV3);
    const std::vector<ColumnGroup> decided = column_groups(through.graph, kV3);
    const ReadBack back = read_back(graph);
    const LoopGroups& read = back.groups;
    ASSERT_EQ(read.columns.size(), 1U) << name;
    ASSERT_EQ(decided.size(), 1U) << name;
    ASSERT_EQ(read.columns[0].members.size(), decided[0].members.size()) << name;
    for (size_t i = 0; i < decided[0].members.size(); ++i) {
      const ColumnGroup::Member &was = decided[0].members[i], &is = read.columns[0].members[i];
      EXPECT_EQ(is.op->name, was.op->name) << name;
      EXPECT_EQ(is.axes, was.axes) << name;
      EXPECT_EQ(is.is_inline, was.is_inline) << name;
    }
  }
}

TEST(LoopGroups, BlocksOfRows) {
  for (const auto& [name, graph] : attention_graphs(64, 64)) {
    const ReadBack back = read_back(graph);
    const LoopGroups& read = back.groups;
    ASSERT_EQ(read.blocks.size(), 1U) << name;
    EXPECT_EQ(read.blocks[0].reader->name, "y") << name;
    EXPECT_EQ(read.blocks[0].products.empty(), name == "given_scores") << name;
    EXPECT_GT(read.blocks[0].block, 1) << name;
  }
}

const char kLayers[] =
    "emulsion graph 1\n"
    "size B\n"
    "input x: f32[B, 16]\n"
    "weight w: f32[16, 24]\n"
    "weight v: f32[24, 8]\n"
    "fused_row_blocks y over [i] {\n"
    "  h[i: B, n: 24] = sum(k: 16) x[i, k] * w[k, n]\n"
    "  y[i: B, n: 8] = sum(k: 24) h[i, k] * v[k, n]\n"
    "}\n"
    "output y\n";

TEST(LoopGroups, Layers) {
  const Graph shared = parse_graph(kLayers);
  const LoopGroups read = read_loop_groups(shared, read_through(shared, kV3), kV3);
  EXPECT_TRUE(read.blocks.empty());
  ASSERT_EQ(read.layers.size(), 1U);
  EXPECT_EQ(read.layers[0].layers.size(), 2U);
  EXPECT_NE(schedule_of(kLayers).find("h.compute_at(y, block)\n"), std::string::npos);
}

TEST(LoopGroups, NotLayersForWhichItDoesNotPay) {
  std::string few = kLayers;
  few.replace(few.find("size B\n"), 7, "");
  for (size_t at = few.find('B'); at != std::string::npos; at = few.find('B')) few[at] = '8';
  EXPECT_ERROR(schedule_of(few),
               "derive_schedule: the loop group of y: expected a contraction of rows that are "
               "combined, or layers, for which it pays; legal: a graph without it");
}

TEST(LoopGroups, Windows) {
  const Target target = small_cache(1);
  for (const auto& [name, graph] : stencil_graphs()) {
    const size_t chains = window_chains(fuse_epilogues(graph), target).size();
    EXPECT_EQ(read_back(graph, target).groups.windows.size(), chains) << name;
  }
}

TEST(LoopGroups, WaitingSums) {
  PoolOptions halves;
  halves.window_h = halves.window_w = halves.stride_h = halves.stride_w = 2;
  EXPECT_EQ(
      read_back(Graph(avg_pool(input("x", f32, {1, 64, 64, 32}), halves, "y"))).groups.sums.size(),
      1U);
}

TEST(LoopGroups, TheScheduleOfTheTextIsThatOfTheGraph) {
  std::vector<std::pair<std::string, Graph>> graphs = row_graphs(64, 100);
  for (const auto& one : attention_graphs(64, 64)) graphs.push_back(one);
  for (const auto& [name, graph] : graphs) {
    const Graph grouped = fuse_epilogues(graph);
    EXPECT_EQ(schedule_of(to_string(share_loops(grouped, kV3))),
              to_string(derive_schedule(grouped, grouped, kV3)))
        << name;
  }
}

const char kRows[] =
    "emulsion graph 1\n"
    "input x: f32[64, 96]\n"
    "fused_rows y over [i] {\n"
    "  p[i: 64] = max(k: 96) x[i, k]\n"
    "  y[i: 64, k: 96] = exp(x[i, k] - p[i])\n"
    "}\n"
    "output y\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kRows;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(LoopGroups, FromATextByHand) {
  EXPECT_NE(schedule_of(kRows).find("p.compute_at(y, "), std::string::npos);
}

TEST(LoopGroups, NotOfAnotherRow) {
  EXPECT_ERROR(schedule_of(with("- p[i]", "- p[63 - i]")),
               "derive_schedule: the loop group of y: expected reads of p at the same i; legal: a "
               "graph without it, or as share_loops gave it for x86-64-");
}

TEST(LoopGroups, NotOverAxesThatAMemberDoesNotHave) {
  EXPECT_ERROR(schedule_of(with("over [i]", "over [i, k]")),
               "the loop group of y: expected p to have axes that say which row, got 1 of them");
}

TEST(LoopGroups, NotAProductInRegisterTiles) {
  EXPECT_ERROR(schedule_of("emulsion graph 1\n"
                           "input x: f32[64, 96]\nweight w: f32[96, 96]\n"
                           "fused_rows y over [i] {\n"
                           "  p[i: 64, j: 96] = sum(k: 96) x[i, k] * w[k, j]\n"
                           "  y[i: 64] = max(k: 96) p[i, k]\n"
                           "}\noutput y\n"),
               "expected p to be no product that is computed in register tiles");
}

TEST(LoopGroups, NotWithoutACombination) {
  EXPECT_ERROR(schedule_of("emulsion graph 1\n"
                           "input x: f32[64, 96]\n"
                           "fused_rows y over [i] {\n"
                           "  p[i: 64, k: 96] = exp(x[i, k])\n"
                           "  y[i: 64, k: 96] = p[i, k] + p[i, 95 - k]\n"
                           "}\noutput y\n"),
               "the loop group of y: expected rows that are combined");
}

TEST(LoopGroups, NotColumnsThatAreCombined) {
  EXPECT_ERROR(schedule_of("emulsion graph 1\n"
                           "input x: f32[8, 64]\n"
                           "fused_columns y over [k] {\n"
                           "  p[i: 8] = sum(k: 64) x[i, k]\n"
                           "  y[i: 8, k: 64] = x[i, k] / p[i]\n"
                           "}\noutput y\n"),
               "the loop group of y: expected reads of p whose last index is k");
}

TEST(LoopGroups, NotColumnsOverAnAxisThatAMemberHasNot) {
  EXPECT_ERROR(schedule_of("emulsion graph 1\n"
                           "input x: f32[8, 64]\n"
                           "fused_columns y over [i, k] {\n"
                           "  p[k: 64] = sum(i: 8) x[i, k]\n"
                           "  y[i: 8, k: 64] = x[i, k] / p[k]\n"
                           "}\noutput y\n"),
               "the loop group of y: expected columns that pay");
}

TEST(LoopGroups, NotColumnsOfMoreRowsThanItPaysFor) {
  const auto of_rows = [](const std::string& rows) {
    return schedule_of(
        "emulsion graph 1\n"
        "input x: f32[" +
        rows +
        ", 64]\n"
        "fused_columns y over [k] {\n"
        "  p[k: 64] = sum(i: " +
        rows +
        ") x[i, k]\n"
        "  y[i: " +
        rows +
        ", k: 64] = x[i, k] / p[k]\n"
        "}\noutput y\n");
  };
  EXPECT_NO_THROW(of_rows("8"));
  EXPECT_ERROR(of_rows("9"), "the loop group of y: expected columns that pay");
}

TEST(LoopGroups, NotWhatNobodyReads) {
  EXPECT_ERROR(schedule_of(with("- p[i]", "")), "the loop group of y: expected p to be read");
}

TEST(LoopGroups, NotBlocksWithoutAContraction) {
  EXPECT_ERROR(schedule_of(with("fused_rows", "fused_row_blocks")),
               "expected a contraction of rows that are combined, or layers, for which it pays");
}

TEST(LoopGroups, NotWindowsOfWhatIsNone) {
  EXPECT_ERROR(schedule_of(with("fused_rows", "fused_windows")), "the loop group of y: expected p");
}

TEST(LoopGroups, NotSumsThatDoNotWait) {
  EXPECT_ERROR(schedule_of(with("fused_rows", "fused_waiting_sums")),
               "the loop group of y: expected p to be in registers while y is computed");
}

// Of windows of three, and of as many as `steps`.
std::string two_sums(const std::string& steps) {
  return "emulsion graph 1\n"
         "input x: f32[128, 128]\n"
         "fused_waiting_sums y over [i, j] {\n"
         "  s[i: 64, j: 64] = sum(a: 3, b: 3) x[i + a, j + b]\n"
         "  t[i: 64, j: 64] = sum(a: " +
         steps + ", b: " + steps +
         ") x[i + a, j + b]\n"
         "  y[i: 64, j: 64] = s[i, j] * t[i, j]\n"
         "}\n"
         "output y\n";
}

TEST(LoopGroups, NotSumsThatCannotWaitTogether) {
  EXPECT_NO_THROW(schedule_of(two_sums("5")));
  EXPECT_ERROR(schedule_of(two_sums("9")),
               "the loop group of y: expected sums that can wait together");
}

TEST(LoopGroups, NotForAMachineOnWhichItDoesNotPay) {
  const Graph large = softmax_by_hand(7, 30000);
  const std::string text = to_string(share_loops(fuse_epilogues(large), kV3));
  EXPECT_NO_THROW(schedule_of(text));
  EXPECT_ERROR(
      schedule_of(text, Target::parse("x86-64-v3,cores=4")),
      "expected at least 8 rows of y for threads to share, got 7; legal: a graph without it");
}

TEST(LoopGroups, WhyNotInLoops) {
  const Graph grouped = fuse_epilogues(softmax_by_hand(64, 96));
  const Readers readers(grouped);
  const Op &total = *op_of(grouped, "total"), &y = *op_of(grouped, "y"), &p = *op_of(grouped, "p");
  const auto why_not = [&](const Op& op, const std::vector<const Op*>& members,
                           LoopGroupKind kind = LoopGroupKind::rows) {
    MemberAxes behind;
    for (const Op* member : members) behind[member] = {0};
    return why_not_in_loops(op, kind, behind, readers, kV3).value_or("");
  };
  EXPECT_EQ(why_not(total, {&y}), "");
  EXPECT_EQ(why_not(p, {&y, &total}), "");
  EXPECT_EQ(why_not(p, {&y}), "") << "rows may be kept";
  EXPECT_EQ(why_not(y, {&total}), "expected y to be read there");
  EXPECT_EQ(why_not(p, {&y}, LoopGroupKind::columns),
            "expected p to be read in the same loops alone, got total outside of them");
  EXPECT_EQ(why_not(y, {&total}, LoopGroupKind::columns),
            "expected y to be no output of the graph");
}

TEST(LoopGroups, WhatIsWantedAndNotIsWrittenDown) {
  const Graph grouped = fuse_epilogues(softmax_by_hand(64, 96));
  const std::vector<const Op*> members = {op_of(grouped, "y").get(), op_of(grouped, "total").get(),
                                          op_of(grouped, "p").get()};
  std::vector<FusionDecision> decisions;
  EXPECT_TRUE(wanted_in_loops(kSharedRows, members, share_all_loops, &decisions));
  const auto slower = [](const LoopCandidate&) {
    FusionRefusal refusal("slower");
    refusal.measured = true;
    return refusal;
  };
  EXPECT_FALSE(wanted_in_loops(kSharedColumns, members, slower, &decisions));
  ASSERT_EQ(decisions.size(), 4U) << "y is in no loops of another";
  for (size_t i = 0; i < decisions.size(); ++i) {
    const bool fused = i < 2;
    EXPECT_EQ(decisions[i].producer, i % 2 == 0 ? "total" : "p");
    EXPECT_EQ(decisions[i].consumer, "y");
    EXPECT_EQ(decisions[i].fused, fused);
    EXPECT_EQ(decisions[i].reason, fused ? "" : "slower");
    EXPECT_EQ(decisions[i].measured, !fused);
    EXPECT_EQ(decisions[i].pattern, fused ? kSharedRows : kSharedColumns);
  }
}

}  // namespace
}  // namespace emulsion
