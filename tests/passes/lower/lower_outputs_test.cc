// store_in_output: storage in the memory of an output. Each schedule is printed, parsed back and
// lowered again, and each nest is run against its graph.

#include <gtest/gtest.h>

#include <string>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// y = p / the sum of its row, p = 2 x.
Graph rows_of(const Extent& rows, const Extent& columns = 10) {
  const Axis m("m", rows), n("n", columns);
  Tensor x = input("x", f32, {rows, columns});
  Tensor p = compute("p", {m, n}, x(m, n) * 2.0f);
  Tensor s = compute("s", {m}, sum(n, p(m, n)));
  return Graph(compute("y", {m, n}, p(m, n) / s(m)));
}

void accepted(const Graph& graph, const std::string& directives) {
  expect_nest(parse_schedule("emulsion schedule 1\n" + directives, graph, "test"));
}

// Whatever the sizes are.
testing::AssertionResult computes_for_all(const Graph& graph, const std::string& text) {
  const LoopNest nest = lower(graph, parse_schedule(text, graph, "test"));
  for (const int64_t rows : {0, 1, 3, 4, 5, 8, 9, 13}) {
    for (const int64_t columns : {1, 4, 6}) {
      const SizeValues sizes = {{"B", rows}, {"N", columns}};
      if (auto result = computes(nest, graph, sizes, 1e-5); !result) {
        return result << " of " << rows << " x " << columns;
      }
    }
  }
  return testing::AssertionSuccess();
}

TEST(LowerOutputs, ARowIsWhereItsResultWillBe) {
  accepted(rows_of(6), "p.compute_at(y, m)\ns.compute_at(y, m)\np.store_in_output(y)\n");
}

TEST(LowerOutputs, RunTimeRowsInThreads) {
  accepted(rows_of(Extent::size("B"), Extent::size("N")),
           "y.parallel(m)\ny.vectorize(n, 4, predicate)\np.vectorize(n, 4, predicate)\n"
           "p.compute_at(y, m)\ns.compute_at(y, m)\np.store_in_output(y)\n");
}

TEST(LowerOutputs, TilesOfRows) {
  accepted(rows_of(6),
           "y.split(m, mo, mi, 2)\np.compute_at(y, mo)\ns.compute_at(y, mo)\n"
           "p.store_in_output(y)\n");
}

// Of the last one no more is computed than the output has memory for.
TEST(LowerOutputs, TilesThatReachPastTheEnd) {
  for (const Extent& rows : {Extent(6), Extent(3), Extent(5), Extent::size("B")}) {
    for (const char* const more :
         {"", "y.partition(mo)\n", "y.parallel(mo)\np.vectorize(n, 4, predicate)\n",
          "y.vectorize(n, 4, predicate)\ny.partition(mo)\ns.unroll(m)\n"}) {
      const Graph graph = rows_of(rows, Extent::size("N"));
      const std::string text =
          "emulsion schedule 1\ny.split(m, mo, mi, 4)\np.compute_at(y, mo)\n"
          "s.compute_at(y, mo)\np.store_in_output(y)\n";
      EXPECT_TRUE(computes_for_all(graph, text + more)) << more;
    }
  }
}

TEST(LowerOutputs, NothingIsComputedPastTheEnd) {
  const Graph graph = rows_of(6);
  const std::string nest = to_string(lower(
      graph, parse_schedule("emulsion schedule 1\ny.split(m, mo, mi, 4)\n"
                            "p.compute_at(y, mo)\ns.compute_at(y, mo)\np.store_in_output(y)\n",
                            graph, "test")));
  EXPECT_NE(nest.find("alloc p[y.mo * 4 .. +4, 0 .. +10] in output y"), std::string::npos) << nest;
  EXPECT_NE(nest.find("m = y.mo * 4 + p.m  if m < 6"), std::string::npos) << nest;
  EXPECT_NE(nest.find("+= p[min(m, 5), n]"), std::string::npos) << "what is there" << nest;
}

TEST(LowerOutputs, InWhatIsInAnOutput) {
  const std::string ways =
      "emulsion schedule 1\ny.alternative(B <= 8, few)\nfew.store_in_output(y)\nfew.split(m, mo, "
      "mi, 4)\n"
      "p.alternative(B <= 8, p_few)\ns.alternative(B <= 8, s_few)\n"
      "p_few.compute_at(few, mo)\ns_few.compute_at(few, mo)\np_few.store_in_output(few)\n"
      "y.specialize(B <= 8)\n";
  EXPECT_TRUE(computes_for_all(rows_of(Extent::size("B")), ways));
}

TEST(LowerOutputs, TilesOfTilesOfRows) {
  accepted(rows_of(12),
           "y.split(m, mo, mi, 2)\ny.split(mo, a, b, 3)\np.compute_at(y, a)\ns.compute_at(y, a)\n"
           "p.store_in_output(y)\n");
}

TEST(LowerOutputs, All) { accepted(rows_of(Extent::size("B")), "p.store_in_output(y)\n"); }

TEST(LowerOutputs, FusedRows) {
  const Axis a("a", 3), b("b", 4), n("n", 5);
  Tensor x = input("x", f32, {3, 4, 5});
  Tensor p = compute("p", {a, b, n}, x(a, b, n) * 2.0f);
  Tensor s = compute("s", {a, b}, sum(n, p(a, b, n)));
  accepted(Graph(compute("y", {a, b, n}, p(a, b, n) / s(a, b))),
           "y.fuse(a, b, rows)\ny.parallel(rows)\np.compute_at(y, rows)\ns.compute_at(y, rows)\n"
           "p.store_in_output(y)\n");
}

TEST(LowerOutputs, ASumThatTheOutputReads) {
  const Axis m("m", 4), n("n", 6), k("k", 5);
  Tensor x = input("x", f32, {4, 5}), w = weight("w", f32, {5, 6});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  accepted(
      Graph(relu(mm, "y")),
      "y.split(i1, io, ii, 3)\nmm.compute_at(y, io)\nmm.reorder(n, k)\nmm.store_in_output(y)\n");
}

TEST(LowerOutputs, InEveryCaseOfTheOutput) {
  accepted(rows_of(Extent::size("B")),
           "y.specialize(B >= 3)\ny.parallel(m)\np.compute_at(y, m)\ns.compute_at(y, m)\n"
           "p.store_in_output(y)\n");
}

TEST(LowerOutputs, NothingIsAllocated) {
  const Graph graph = rows_of(6);
  const auto nest_of = [&](const std::string& last) {
    return to_string(
        lower(graph,
              parse_schedule("emulsion schedule 1\np.compute_at(y, m)\ns.compute_at(y, m)\n" + last,
                             graph, "test")));
  };
  EXPECT_NE(nest_of("").find("alloc p[y.m .. +1, 0 .. +10] in stack"), std::string::npos);
  EXPECT_NE(nest_of("p.store_in_output(y)\n").find("alloc p[y.m .. +1, 0 .. +10] in output y"),
            std::string::npos);
}

// --- refused ------------------------------------------------------------------------------------

// The last line of `directives`, for its cause.
void refused(const Graph& graph, const std::string& directives, const std::string& cause) {
  const std::string text = "emulsion schedule 1\n" + directives;
  const auto lowering = [&] { lower(graph, parse_schedule(text, graph, "test")); };
  const std::string last = directives.substr(directives.rfind('\n') + 1);
  EXPECT_TRUE(throws_with<ScheduleError>(lowering, last + ": "));
  EXPECT_TRUE(throws_with<ScheduleError>(lowering, cause));
}

const char* const kByRows = "p.compute_at(y, m)\ns.compute_at(y, m)\n";

std::string by_rows(const std::string& more) { return more + kByRows + "p.store_in_output(y)"; }

Graph parsed(const std::string& lines) { return parse_graph("emulsion graph 1\n" + lines); }

TEST(LowerOutputs, RefusesWhatIsNoOutput) {
  refused(rows_of(6), "p.store_in_output(s)", "expected an output (y), got s; nearest: y");
  refused(rows_of(6), "p.store_in_output(z)", "expected another operation that has loops");
  refused(rows_of(6), "y.store_in_output(y)", "got y");
  refused(rows_of(6), "p.store_in_output(x)", "got x");
}

TEST(LowerOutputs, RefusesAnOutputOfAnotherType) {
  refused(parsed("input x: f32[4]\np[i: 4] = x[i] * 2f\ny[i: 4] = i32(p[i])\noutput y\n"),
          "p.store_in_output(y)",
          "expected an output of the type and the shape of p, f32[4], got y, i32[4]; legal: "
          "storage of its own");
}

TEST(LowerOutputs, RefusesAnOutputOfAnotherShape) {
  refused(parsed("input x: f32[4]\np[i: 4] = x[i] * 2f\ny[i: 3] = p[i]\noutput y\n"),
          "p.store_in_output(y)", "f32[4], got y, f32[3]");
  refused(parsed("input x: f32[4]\np[i: 4] = x[i] * 2f\ny[i: 4, j: 1] = p[i]\noutput y\n"),
          "p.store_in_output(y)", "f32[4], got y, f32[4, 1]");
}

TEST(LowerOutputs, RefusesAReduction) {
  refused(parsed("input x: f32[4]\np[i: 4] = x[i] * 2f\ny[i: 4] = sum(k: 2) p[i]\noutput y\n"),
          "p.store_in_output(y)", "expected an output that is no reduction, got y");
}

TEST(LowerOutputs, RefusesMemoryAndLayoutsOfItsOwn) {
  for (const char* other : {"p.store_in(heap)", "p.align_storage(n, 16)", "p.reorder_storage(m, n)",
                            "p.hoist_storage(y, m)", "p.store_root()", "p.store_at(y, m)"}) {
    const std::string kind = std::string(other).substr(2, std::string(other).find('(') - 2);
    refused(rows_of(6), std::string(kByRows) + other + "\np.store_in_output(y)",
            "expected an operation without " + kind + ", got both; legal: either");
  }
  refused(rows_of(6), std::string(kByRows) + "p.store_in_output(y)\np.store_in_output(y)",
          "expected one store_in_output, got a second one");
}

TEST(LowerOutputs, RefusesTwoInOneOutput) {
  refused(parsed("input x: f32[4]\np[i: 4] = x[i] * 2f\nq[i: 4] = x[i] + 1f\n"
                 "y[i: 4] = p[i] * q[i]\noutput y\n"),
          "p.store_in_output(y)\nq.store_in_output(y)",
          "expected an output that holds nothing else, got y, where p is stored");
}

TEST(LowerOutputs, RefusesAnOutputThatSharesLoops) {
  const Graph graph = parsed(
      "input x: f32[4]\np[i: 4] = x[i] * 2f\ny[i: 4] = p[i] + 1f\nz[i: 4] = x[i] - 1f\n"
      "output y\noutput z\n");
  const std::string cause = "expected an output with loops of its own, got y, which shares them";
  refused(graph, "z.compute_with(y, i)\np.store_in_output(y)", cause);
  refused(graph, "y.compute_with(z, i)\np.store_in_output(y)", cause);
}

TEST(LowerOutputs, RefusesReadsAtOtherIndices) {
  for (const char* read : {"p[i, 3 - j]", "p[j, i]", "p[i, 0]", "p[i, min(j + 1, 3)]"}) {
    refused(parsed(std::string("input x: f32[4, 4]\np[i: 4, j: 4] = x[i, j] * 2f\n"
                               "y[i: 4, j: 4] = p[i, j] + ") +
                   read + "\noutput y\n"),
            "p.store_in_output(y)",
            std::string("expected y to read p at its own index, p[i, j], got ") + read);
  }
}

TEST(LowerOutputs, RefusesWhatIsReadLater) {
  const Graph two = parsed(
      "input x: f32[4]\np[i: 4] = x[i] * 2f\ny[i: 4] = p[i] + 1f\nz[i: 4] = p[i] - 1f\n"
      "output y\noutput z\n");
  refused(two, "p.store_in_output(y)",
          "expected p to be read before y is computed, got z, which reads it later");
  accepted(two, "p.store_in_output(z)\n");
  // What shares loops is not where it stands in the graph.
  const Graph three = parsed(
      "input x: f32[4]\np[i: 4] = x[i] * 2f\nz[i: 4] = p[i] - 1f\ny[i: 4] = p[i] + 1f\n"
      "v[i: 4] = x[i] + 1f\noutput z\noutput y\noutput v\n");
  lower(three, parse_schedule("emulsion schedule 1\np.store_in_output(y)\n", three, "test"));
  for (const char* shared : {"z.compute_with(v, i)\n", "v.compute_with(z, i)\n"}) {
    refused(three, std::string(shared) + "p.store_in_output(y)", "got z, which reads it later");
  }
  refused(rows_of(6), "p.compute_at(y, m)\ns.compute_at(y, n)\np.store_in_output(y)",
          "expected p to be read before y is computed, got s");
}

// All loops of the output come behind those of what reads the value.
TEST(LowerOutputs, RefusesALoopOfAnotherOperation) {
  const Graph graph = parsed(
      "input x: f32[4, 6]\np[i: 4, j: 6] = x[i, j] * 2f\nr[i: 4, j: 6] = p[i, j] + 1f\n"
      "q[i: 4, j: 6] = r[i, j] * 3f\ny[i: 4, j: 6] = q[i, j] - 1f\noutput y\n");
  accepted(graph, "p.store_in_output(y)\n");
  for (const char* loop : {"i", "j"}) {
    const std::string at = std::string(".compute_at(q, ") + loop + ")\n";
    refused(graph, "p" + at + "r" + at + "p.store_in_output(y)",
            std::string("expected p to be computed at a loop of y, or at the root, got q.") + loop +
                "; legal: compute_at a loop of y, or compute_root()");
  }
  const std::string inside = "q.compute_at(y, i)\nr.compute_at(q, j)\np.compute_at(q, j)\n";
  refused(graph, inside + "p.store_in_output(y)", "a loop of y, or at the root, got q.j");
}

TEST(LowerOutputs, RefusesATailThatReadsAgain) {
  for (const char* tail : {"shift_inwards", "predicate_stores"}) {
    refused(rows_of(6), std::string("y.split(n, no, ni, 4, ") + tail + ")\np.store_in_output(y)",
            std::string("expected an output that reads each element of p once, got y.split(n, no, "
                        "ni, 4, ") +
                tail + "), whose last tile reads some again; legal: guard or predicate");
  }
  refused(rows_of(Extent::size("B")),
          by_rows("y.specialize(B >= 4)\ny.split(n, no, ni, 4, shift_inwards)\n"),
          "whose last tile reads some again");
}

TEST(LowerOutputs, RefusesTilesThatStartBeyondTheEnd) {
  const std::string at_each =
      "y.split(m, mo, mi, 4)\np.compute_at(y, mi)\ns.compute_at(y, mi)\np.store_in_output(y)";
  refused(rows_of(6), at_each,
          "expected tiles of y inside y.mi that end where a step around them does, got ones that "
          "may not; legal: a factor that divides 6, or one index at a time");
  refused(rows_of(Extent::size("B")), at_each, "a factor that divides B");
  refused(rows_of(9),
          "y.split(m, mo, mi, 2)\ny.split(mo, a, b, 2)\np.compute_at(y, b)\ns.compute_at(y, b)\n"
          "p.store_in_output(y)",
          "expected tiles of y inside y.b that start inside m");
}

// What is behind the end of such a part is computed by another step, at the same time maybe.
TEST(LowerOutputs, RefusesTilesOfAPartThatReachPastIt) {
  const std::string tiles =
      "y.split(m, block, within, 5)\ny.split(within, mo, mi, 2)\ny.parallel(block)\n"
      "p.compute_at(y, mo)\ns.compute_at(y, mo)\np.store_in_output(y)";
  const std::string cause =
      "expected tiles of y inside y.mo that end where a step around them does, got ones that may "
      "not";
  refused(rows_of(10), tiles, cause);
  refused(rows_of(Extent::size("B")), tiles, cause);
}

TEST(LowerOutputs, RefusesWhatIsInNoOutputInTheEnd) {
  refused(rows_of(6), "s.compute_at(y, m)\np.store_in_output(s)", "expected an output (y), got s");
  refused(parsed("input x: f32[4]\np[i: 4] = x[i] * 2f\nq[i: 4] = p[i] + 1f\ny[i: 4] = q[i] * 3f\n"
                 "output y\n"),
          "p.compute_at(q, i)\nq.store_in_output(p)\np.store_in_output(q)",
          "expected an output (y), got ");
}

TEST(LowerOutputs, RefusesPartsThatAreNotTheSame) {
  refused(rows_of(6), "p.compute_at(y, n)\ns.compute_at(y, n)\np.store_in_output(y)",
          "expected the part of p that is needed inside y.n to be the one that y computes there, "
          "1 of n, got 10; legal: a loop around it");
  refused(rows_of(6), by_rows("p.split(n, no, ni, 4, round_up)\n"), "10 of n, got 12");
  refused(rows_of(6), by_rows("p.split(n, no, ni, 4, predicate_loads)\n"), "10 of n, got 12");
}

TEST(LowerOutputs, RefusesIndicesThatAreApart) {
  const Graph graph = parsed(
      "input x: f32[4, 6]\np[m: 4, n: 6] = x[m, n] * 2f\ny[m: 4, n: 6] = p[m, n] + 1f\n"
      "output y\n");
  const std::string cause = "got indices that are not next to each other";
  refused(graph,
          "y.split(n, no, ni, 3)\ny.reorder(no, ni, m)\np.compute_at(y, ni)\np.store_in_output(y)",
          cause);
  refused(graph,
          "y.fuse(m, n, f)\ny.split(f, fo, fi, 4)\np.compute_at(y, fo)\np.store_in_output(y)",
          cause);
}

TEST(LowerOutputs, RefusesItBehindSpecialize) {
  refused(rows_of(Extent::size("B")), "p.specialize(B >= 4)\np.store_in_output(y)",
          "got store_in_output; legal: in front");
}

}  // namespace
}  // namespace emulsion
