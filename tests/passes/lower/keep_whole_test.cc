// compute_at of what is stored whole: an output, or with store_root what is read behind the loops,
// too. Each nest is run against its graph.

#include <gtest/gtest.h>

#include <string>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

Graph parsed(const std::string& lines) {
  const bool has_size = lines.find('B') != std::string::npos;
  return parse_graph(std::string("emulsion graph 1\n") + (has_size ? "size B\n" : "") + lines);
}

Schedule scheduled(const Graph& graph, const std::string& directives) {
  return parse_schedule("emulsion schedule 1\n" + directives, graph, "test");
}

// r = x + a; s = sums of its rows; y = r * s; and z = r - 1 behind it.
Graph residual(const std::string& rows, const std::string& outputs = "output y\noutput r\n") {
  const std::string shape = "[" + rows + ", 6]";
  return parsed("input x: f32" + shape + "\ninput a: f32" + shape + "\nr[m: " + rows +
                ", n: 6] = x[m, n] + a[m, n]\ns[m: " + rows +
                "] = sum(k: 6) r[m, k]\ny[m: " + rows + ", n: 6] = r[m, n] * s[m]\nz[m: " + rows +
                ", n: 6] = r[m, n] - 1f\n" + outputs);
}

const char* const kByRows = "r.compute_at(y, m)\ns.compute_at(y, m)\n";
const char* const kByTiles = "r.compute_at(y, mo)\ns.compute_at(y, mo)\n";

TEST(KeepWhole, AnOutputInTheLoopsOfItsReader) {
  const Graph graph = residual("4");
  expect_nest(scheduled(graph, kByRows));
  EXPECT_EQ(to_string(lower(graph, scheduled(graph, kByRows))).find("alloc r"), std::string::npos);
}

TEST(KeepWhole, WhatIsReadBehindTheLoops) {
  const Graph graph = residual("4", "output y\noutput z\n");
  expect_nest(scheduled(graph, std::string(kByRows) + "r.store_root()\n"));
}

TEST(KeepWhole, InThreads) {
  for (const char* outputs :
       {"output y\noutput r\n", "output y\noutput z\n", "output r\noutput y\n"}) {
    const Graph graph = residual("B", outputs);
    const bool is_output = graph.is_output(*op_of(graph, "r"));
    const std::string root = is_output ? "" : "r.store_root()\n";
    for (const char* loops : {"y.parallel(m)\n", "y.specialize(B >= 3)\ny.parallel(m)\n"}) {
      const Schedule schedule = scheduled(graph, std::string(loops) + kByRows + root);
      for (const int64_t rows : {0, 1, 3, 7}) EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}}));
    }
  }
}

TEST(KeepWhole, TilesEndWhereTheDomainDoes) {
  for (const char* outputs : {"output y\noutput r\n", "output y\noutput z\n"}) {
    for (const char* rows : {"B", "7", "8"}) {
      const Graph graph = residual(rows, outputs);
      const std::string root = graph.is_output(*op_of(graph, "r")) ? "" : "r.store_root()\n";
      for (const char* more : {"", "y.partition(mo)\n", "y.parallel(mo)\ny.partition(mo)\n",
                               "r.vectorize(n, 4, predicate)\n", "r.unroll(m)\n"}) {
        const Schedule schedule =
            scheduled(graph, std::string("y.split(m, mo, mi, 4)\n") + more + kByTiles + root);
        for (const int64_t size : {0, 1, 3, 4, 8, 9}) {
          EXPECT_TRUE(lowers(graph, schedule, {{"B", size}})) << more;
        }
      }
    }
  }
}

TEST(KeepWhole, SumsAreStoredToo) {
  const Graph graph = residual("B", "output y\noutput s\noutput r\n");
  const Schedule schedule = scheduled(
      graph, "y.split(m, mo, mi, 4)\ny.parallel(mo)\nr.compute_at(y, mo)\ns.compute_at(y, mo)\n");
  for (const int64_t rows : {0, 1, 4, 7}) EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}}));
  const Schedule lanes = scheduled(
      graph,
      "r.compute_at(y, m)\ns.compute_at(y, m)\ns.split(k, k, lane, 2)\ns.rfactor(lane, part)\n"
      "part.compute_at(s, m)\n");
  for (const int64_t rows : {0, 1, 4, 7}) EXPECT_TRUE(lowers(graph, lanes, {{"B", rows}}));
}

// Nothing in the loops reads y: it is the part of its own axes.
TEST(KeepWhole, TwoOutputsOfOneRow) {
  const Graph graph = residual("B", "output y\noutput z\n");
  const Schedule schedule =
      scheduled(graph,
                "z.split(m, mo, mi, 2)\nz.parallel(mo)\ny.compute_at(z, mo)\nr.compute_at(z, mo)\n"
                "s.compute_at(z, mo)\n");
  for (const int64_t rows : {0, 1, 4, 7}) EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}}));
}

// The reader has an axis in front of those that the loops around are made of, and computes all of
// it in a step.
TEST(KeepWhole, OfAReaderWithMoreAxesInFront) {
  for (const char* extent : {"B", "7"}) {
    const std::string n = extent;
    const Graph graph =
        parsed("input x: f32[" + n + "]\nr[n: " + n + "] = x[n] * 2f\ny[c: 3, n: " + n +
               "] = select(c == 0, r[n], x[n])\noutput r\noutput y\n");
    for (const char* loops :
         {"y.reorder(c, n)\nr.compute_at(y, n)\n",
          "y.split(n, no, ni, 4, predicate)\ny.reorder(ni, c, no)\ny.vectorize(ni)\n"
          "y.parallel(no)\nr.vectorize(n)\nr.compute_at(y, no)\n"}) {
      const Schedule schedule = scheduled(graph, loops);
      for (const int64_t size : {0, 1, 4, 9}) {
        EXPECT_TRUE(lowers(graph, schedule, {{"B", size}})) << loops;
      }
    }
    EXPECT_THROW(lower(graph, scheduled(graph, "r.compute_at(y, n)\n")), ScheduleError)
        << "in every step of c";
  }
}

// What has one step is computed whole in it.
TEST(KeepWhole, AReaderWithAnAxisOfOneStep) {
  const Graph graph = parsed(
      "input x: f32[B, 5]\nr[b: B] = sum(k: 5) x[b, k]\n"
      "y[b: B, n: 5, u: 1] = x[b, n] - r[b]\noutput y\noutput r\n");
  const Schedule schedule = scheduled(graph, "y.reorder(n, b, u)\nr.compute_at(y, b)\n");
  for (const int64_t rows : {0, 1, 4}) EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}}));
}

TEST(KeepWhole, AReaderWithAnAxisOfOneStepInFront) {
  const Graph graph = parsed(
      "input x: f32[B, 1]\nr[b: B, u: 1] = x[b, u] * 2f\n"
      "y[u: 1, b: B] = r[b, u] + 1f\noutput y\noutput r\n");
  const Schedule schedule = scheduled(graph, "y.reorder(b, u)\nr.compute_at(y, b)\n");
  for (const int64_t rows : {0, 1, 4}) EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}}));
}

TEST(KeepWhole, FusedLoops) {
  const Graph graph = parsed(
      "input x: f32[3, B, 5]\nr[a: 3, b: B, n: 5] = x[a, b, n] * 2f\n"
      "s[a: 3, b: B] = sum(k: 5) r[a, b, k]\ny[a: 3, b: B, n: 5] = r[a, b, n] - s[a, b]\n"
      "output y\noutput s\noutput r\n");
  const Schedule schedule = scheduled(
      graph,
      "y.fuse(a, b, rows)\ny.parallel(rows)\nr.compute_at(y, rows)\ns.compute_at(y, rows)\n");
  for (const int64_t rows : {0, 1, 4}) EXPECT_TRUE(lowers(graph, schedule, {{"B", rows}}));
}

TEST(KeepWhole, RowsReadInAnotherOrder) {
  const Graph graph = parsed(
      "input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\ny[m: 4, n: 6] = r[m, 5 - n]\n"
      "output y\noutput r\n");
  EXPECT_TRUE(lowers(graph, scheduled(graph, "r.compute_at(y, m)\n")));
}

// In the graph it stands in front of them, alone or with what shares its loops.
TEST(KeepWhole, AReaderComesBehindTheLoops) {
  const Graph graph = parsed(
      "input x: f32[4]\nr[m: 4] = x[m] * 2f\nv[m: 4] = x[m] + 1f\nz[m: 4] = r[m] - 1f\n"
      "y[m: 4] = r[m] + 1f\noutput z\noutput y\noutput r\noutput v\n");
  for (const char* shared : {"", "z.compute_with(v, m)\n", "v.compute_with(z, m)\n"}) {
    EXPECT_TRUE(lowers(graph, scheduled(graph, std::string(shared) + "r.compute_at(y, m)\n")));
  }
}

// --- refused ------------------------------------------------------------------------------------

// The last line of `directives`, for its cause.
void refused(const Graph& graph, const std::string& directives, const std::string& cause) {
  const auto lowering = [&] { lower(graph, scheduled(graph, directives)); };
  const std::string last = directives.substr(directives.rfind('\n') + 1);
  EXPECT_TRUE(throws_with<ScheduleError>(lowering, last + ": "));
  EXPECT_TRUE(throws_with<ScheduleError>(lowering, cause));
}

TEST(KeepWhole, RefusesALoopThatItHasNoAxisFor) {
  refused(residual("4", "output y\noutput s\noutput r\n"), "s.compute_at(y, n)",
          "expected an axis 2 of s of the extent 6, as n of y has, the loop around it, got none");
  refused(parsed("input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\ny[m: 3, n: 6] = r[m, n]\n"
                 "output y\noutput r\n"),
          "r.compute_at(y, m)",
          "expected an axis 1 of r of the extent 3, as m of y has, the loop around it, got 4");
}

TEST(KeepWhole, RefusesReadsOfOtherRows) {
  for (const char* read : {"r[3 - m, n]", "r[min(m + 1, 3), n]", "r[0, n]"}) {
    refused(parsed(std::string("input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\n"
                               "y[m: 4, n: 6] = ") +
                   read + "\noutput y\noutput r\n"),
            "r.compute_at(y, m)",
            std::string("expected all that is read of r inside y.m to be the part that a step "
                        "computes, got ") +
                read + " of y; legal: compute_root()");
  }
}

TEST(KeepWhole, RefusesAReaderThatTheLoopsNeed) {
  refused(parsed("input x: f32[4]\nr[m: 4] = x[m] * 2f\nz[m: 4] = r[m] - 1f\n"
                 "y[m: 4] = r[m] + z[3 - m]\noutput y\noutput r\n"),
          "r.compute_at(y, m)",
          "expected what reads r to be computed inside y.m or behind the loops of y, got z, and z "
          "is needed before; legal: compute_root()");
  // y needs w, which needs the loops of v, in which q is kept; and v needs z, which reads r.
  refused(parsed("input x: f32[4]\nr[m: 4] = x[m] * 2f\nq[m: 4] = x[m] * 3f\n"
                 "z[m: 4] = r[m] - 1f\nv[m: 4] = q[m] + z[m]\nw[m: 4] = q[m] - 1f\n"
                 "y[m: 4] = r[m] + w[m]\noutput y\noutput v\noutput r\noutput q\n"),
          "q.compute_at(v, m)\nr.compute_at(y, m)", "is needed before");
}

TEST(KeepWhole, RefusesAReaderInALoopAroundItsPlace) {
  refused(
      parsed("input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\n"
             "z[m: 4, n: 6] = r[m, n] - 1f\ny[m: 4, n: 6] = z[m, n] + 1f\noutput y\noutput r\n"),
      "z.compute_at(y, m)\nr.compute_at(y, n)",
      "expected what reads r to be computed inside y.n or behind the loops of y, got z, which is "
      "computed around it; legal: compute_root()");
}

TEST(KeepWhole, RefusesAReaderThatSharesLoopsThatAreNeeded) {
  const Graph graph = parsed(
      "input x: f32[4]\nr[m: 4] = x[m] * 2f\nv[m: 4] = x[m] + 1f\ny[m: 4] = r[m] + v[m]\n"
      "z[m: 4] = r[m] - 1f\noutput v\noutput y\noutput z\noutput r\n");
  EXPECT_TRUE(lowers(graph, scheduled(graph, "r.compute_at(y, m)\n")));
  for (const char* shared : {"z.compute_with(v, m)\n", "v.compute_with(z, m)\n"}) {
    refused(graph, std::string(shared) + "r.compute_at(y, m)",
            "got z, and v is needed before; legal: compute_root()");
  }
}

TEST(KeepWhole, RefusesLoopsThatAreShared) {
  const Graph graph = parsed(
      "input x: f32[4]\nr[m: 4] = x[m] * 2f\ny[m: 4] = r[m] + 1f\nv[m: 4] = x[m] + 1f\n"
      "output y\noutput v\noutput r\n");
  const std::string cause = "expected loops of r and y without compute_with";
  refused(graph, "v.compute_with(y, m)\nr.compute_at(y, m)", cause);
  refused(graph, "y.compute_with(v, m)\nr.compute_at(y, m)", cause);
}

TEST(KeepWhole, RefusesALoopThatIsNotAtTheRoot) {
  refused(parsed("input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\np[m: 4, n: 6] = r[m, n] + 1f\n"
                 "y[m: 4, n: 6] = p[m, n] - 1f\noutput y\noutput r\n"),
          "p.compute_at(y, m)\nr.compute_at(p, n)",
          "expected a loop of an operation that is computed at the root, for r is stored whole, "
          "got one of p");
}

TEST(KeepWhole, RefusesALoopOfAReduction) {
  refused(parsed("input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\ny[m: 4] = sum(n: 6) r[m, n]\n"
                 "output y\noutput r\n"),
          "r.compute_at(y, n)", "expected no loop of a reduction around r");
}

TEST(KeepWhole, RefusesPartsThatAreComputedTwice) {
  for (const char* tail : {"shift_inwards", "predicate_stores"}) {
    refused(residual("7"),
            std::string("y.split(m, mo, mi, 4, ") + tail +
                ")\ns.compute_at(y, mi)\nr.compute_at(y, mi)",
            tail[0] == 's' ? "expected loops that compute each part of r once" : "expected");
  }
}

TEST(KeepWhole, RefusesIndicesThatAreApart) {
  refused(parsed("input x: f32[4, 6]\nr[m: 4, n: 6] = x[m, n] * 2f\ny[m: 4, n: 6] = r[m, n]\n"
                 "output y\noutput r\n"),
          "y.split(m, mo, mi, 2)\ny.reorder(n, mo, mi)\nr.compute_at(y, mi)",
          "expected loops whose steps have indices of m of y that are next to each other");
}

TEST(KeepWhole, RefusesToRoundUp) {
  const std::string at = "r.compute_at(y, m)\ns.compute_at(y, m)\nr.store_root()\n";
  const Graph graph = residual("4", "output y\noutput z\n");
  refused(graph, at + "r.split(n, no, ni, 4, round_up)",
          "nothing past the end of r may be written, which is stored whole; legal: guard");
  refused(graph, at + "r.split(n, no, ni, 4, predicate_loads)", "is kept");
  refused(graph, at + "r.fold_storage(m, 4)", "expected storage that is kept over a loop");
}

TEST(KeepWhole, RefusesAnAlternative) {
  refused(residual("B"), "y.alternative(B <= 3, few)\ny.specialize(B <= 3)\nr.compute_at(y, m)",
          "expected r and y without an alternative");
}

}  // namespace
}  // namespace emulsion
