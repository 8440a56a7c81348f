#include "dsl/schedule_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Axis m("m", 128), n("n", 512), k("k", 256);
Axis mo("mo"), mi("mi"), no("no"), ni("ni"), lane("lane");

struct Linear {
  Tensor x = input("x", f32, {128, 256});
  Tensor w = weight("w", f32, {256, 512});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
};

Schedule by_hand() {
  Linear l;
  Schedule s(l.y);
  s[l.y].tile(m, n, mo, no, mi, ni, 6, 64, Tail::guard).parallel(mo).vectorize(ni, 16).unroll(mi);
  s[l.mm].cache_write("acc").compute_at(l.y, no).pack(l.w, n, 64).store_in(Memory::stack);
  s["acc"].split(k, k, lane, 16).rfactor(lane, "partial").atomic().vectorize(lane);
  s["partial"].compute_root().copy_in("x", "x_tile");
  s["x_tile"].unroll(Axis("i1"));
  return s;
}

TEST(ScheduleText, ReadsAsItIsWrittenConsumersFirst) {
  EXPECT_EQ(to_string(by_hand()),
            "emulsion schedule 1\n"
            "y.split(m, mo, mi, 6, guard)\n"
            "y.split(n, no, ni, 64, guard)\n"
            "y.reorder(ni, mi, no, mo)\n"
            "y.parallel(mo)\n"
            "y.split(ni, ni, ni_v, 16)\n"
            "y.vectorize(ni_v)\n"
            "y.unroll(mi)\n"
            "mm.cache_write(acc)\n"
            "mm.compute_at(y, no)\n"
            "mm.pack(w, n, 64)\n"
            "mm.store_in(stack)\n"
            "acc.split(k, k, lane, 16)\n"
            "acc.rfactor(lane, partial)\n"
            "acc.atomic()\n"
            "acc.vectorize(lane)\n"
            "partial.compute_root()\n"
            "partial.copy_in(x, x_tile)\n"
            "x_tile.unroll(i1)\n");
}

void expect_round_trip(const Schedule& schedule) {
  std::string text = to_string(schedule);
  Schedule parsed = parse_schedule(text, schedule.graph());
  EXPECT_TRUE(parsed == schedule) << text;
  EXPECT_EQ(to_string(parsed), text);
}

TEST(ScheduleText, ParsesBack) { expect_round_trip(by_hand()); }

TEST(ScheduleText, AComputedPartParsesBack) {
  const Axis b("b", Extent::size("B")), c("c", 3);
  const Tensor x = input("x", f32, {b.extent(), 3}), v = input("v", f32, {3});
  Schedule s(compute("y", {b, c}, x(b, c) / sqrt(v(c))));
  s["y"].precompute(c, "root").unroll(c);
  s["root"].unroll(c);
  EXPECT_EQ(to_string(s),
            "emulsion schedule 1\ny.precompute(c, root)\ny.unroll(c)\nroot.unroll(c)\n");
  expect_round_trip(s);
}

TEST(ScheduleText, AnAlternativeParsesBack) {
  const Axis b("b", Extent::size("B")), c("c", 3);
  const Tensor x = input("x", f32, {b.extent(), 3});
  Schedule s(compute("y", {b}, sum(c, x(b, c))));
  s["y"].cache_write("many");
  s["many"].alternative(size_value("B") <= 4 && size_value("B") > 1, "few");
  s["few"].unroll(c);
  EXPECT_EQ(to_string(s),
            "emulsion schedule 1\ny.cache_write(many)\n"
            "many.alternative(B <= 4 && B > 1, few)\nfew.unroll(c)\n");
  expect_round_trip(s);
}

TEST(ScheduleText, TheEmptyScheduleIsItsFirstLine) {
  Schedule empty(Linear().y);
  EXPECT_EQ(to_string(empty), "emulsion schedule 1\n");
  expect_round_trip(empty);
}

TEST(ScheduleText, EveryDirectiveTailAndMemoryParsesBack) {
  Linear l;
  for (Tail tail :
       {Tail::automatic, Tail::guard, Tail::predicate, Tail::round_up, Tail::shift_inwards}) {
    Schedule s(l.y);
    s[l.y].split(m, mo, mi, 1, tail).fuse(mi, n, Axis("t")).compute_root();
    expect_round_trip(s);
  }
  for (Memory memory :
       {Memory::automatic, Memory::heap, Memory::stack, Memory::registers, Memory::scratchpad}) {
    Schedule s(l.y);
    s[l.mm].store_in(memory).compute_at(l.y, n).store_at(l.y, m).compute_inline();
    s[l.mm].store_root().hoist_storage(l.y, m).fold_storage(n, 4).align_storage(n, 16);
    s[l.mm].reorder_storage({m, n}).store_in_output(l.y);
    expect_round_trip(s);
  }
}

Schedule parse(const std::string& lines) {
  return parse_schedule("emulsion schedule 1\n" + lines, Graph(Linear().y));
}

TEST(ScheduleText, CommentsBlankLinesAndSpacesAreFree) {
  Schedule s = parse("\n# a comment\n  y . parallel ( m )   # more\r\n\nmm.unroll(k)");
  EXPECT_EQ(to_string(s), "emulsion schedule 1\ny.parallel(m)\nmm.unroll(k)\n");
}

TEST(ScheduleText, LinesOfOneStageMayBeApart) {
  Schedule s = parse(
      "acc.unroll(k)\ny.parallel(m)\nmm.compute_at(y, n)\nmm.cache_write(acc)\n"
      "y.unroll(n)\n");
  EXPECT_EQ(s.find("y")->directives().size(), 2u);
}

TEST(ScheduleText, ShorthandsBecomeWhatTheyAreMadeOf) {
  Schedule s = parse(
      "y.tile(m, n, mo, no, mi, ni, 6, 64, guard)\ny.parallel(mo)\n"
      "y.vectorize(ni, 16)\ny.unroll(mi)\nmm.unroll(k, 4, predicate)\n");
  Linear l;
  Schedule expected(l.y);
  expected["y"].tile(m, n, mo, no, mi, ni, 6, 64, Tail::guard).parallel(mo).vectorize(ni, 16);
  expected["y"].unroll(mi);
  expected["mm"].unroll(k, 4, Tail::predicate);
  EXPECT_TRUE(s == expected) << to_string(s);
}

struct Batched {
  Axis b{"b", Extent::size("B")};
  Tensor y = compute("y", {b}, input("x", f32, {Extent::size("B")})(b) * 2.0f);
};

Schedule parse_batched(const std::string& lines) {
  return parse_schedule("emulsion schedule 1\n" + lines, Graph(Batched().y));
}

TEST(ScheduleText, ConditionsParseBack) {
  const Expr B = size_value("B");
  const std::vector<Expr> conditions = {B == 1,        B >= 16 && B % 8 == 0, B < 4 || B != 7,
                                        !(B <= 3),     Expr(2) * B + 1 > 5,   min(B, 4) == 4,
                                        B / 2 * 2 == B};
  for (const Expr& condition : conditions) {
    Schedule s(Batched().y);
    s["y"].specialize(condition).unroll(Axis("b"), 4).specialize(B == 9).parallel(Axis("b"));
    expect_round_trip(s);
  }
}

TEST(ScheduleText, ASpecializationEndsAtTheNext) {
  Schedule s = parse_batched(
      "y.specialize(B == 1)  # one row\ny.split(b, bo, bi, 4)\ny.specialize(B == "
      "2)\ny.parallel(b)\n");
  EXPECT_EQ(to_string(s),
            "emulsion schedule 1\ny.specialize(B == 1)\ny.split(b, bo, bi, 4)\n"
            "y.specialize(B == 2)\ny.parallel(b)\n");
}

TEST(ScheduleText, RandomSchedulesParseBack) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Linear l;
    Schedule s(l.y);
    for (const char* name : {"y", "mm"}) {
      std::vector<std::string> loops = {"m", "n"};
      for (int i = 0; i < 6; ++i) {
        std::string loop = loops[random() % loops.size()];
        Axis outer(loop + "o"), inner(loop + "i" + std::to_string(i));
        switch (random() % 4) {
          case 0:
            s[name].split(Axis(loop), outer, inner, 1 + static_cast<int64_t>(random() % 100),
                          static_cast<Tail>(random() % 5));
            *std::find(loops.begin(), loops.end(), loop) = outer.name();
            loops.push_back(inner.name());
            break;
          case 1:
            s[name].parallel(Axis(loop));
            break;
          case 2:
            s[name].reorder({Axis(loop)});
            break;
          default:
            s[name].vectorize(Axis(loop));
        }
      }
    }
    expect_round_trip(s);
  }
}

TEST(ScheduleText, CutAnywhereItIsAScheduleOrAnError) {
  std::string text = to_string(by_hand());
  Graph graph(Linear().y);
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      parse_schedule(text.substr(0, length), graph);
    } catch (const Error&) {
    }
  }
}

class ScheduleTextRefusal : public RefusalTest {};
TEST_P(ScheduleTextRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, ScheduleTextRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"Nothing", [] { parse_schedule("", Graph(Linear().y)); },
         "expected 'emulsion schedule 1' on the first line, got end of text"},
        {"NewerVersion", [] { parse_schedule("emulsion schedule 7\n", Graph(Linear().y)); },
         "line 1, column 19: expected a version of the schedule format that this library reads "
         "(known: 1), got '7'"},
        {"AGraph", [] { parse_schedule("emulsion graph 1\n", Graph(Linear().y)); }, "got 'graph'"},
        {"UnknownDirective", [] { parse("y.vectorise(n)\n"); },
         "line 2, column 3: expected a directive (split, tile, fuse, reorder, vectorize, unroll, "},
        {"MisspeltDirective", [] { parse("y.vectorise(n)\n"); },
         "got vectorise; nearest: vectorize"},
        {"AFormerDirective", [] { parse("mm.split_reduction(k, lane, partial, 16)\n"); },
         "line 2, column 4: expected split(axis, axis, lane, factor) and rfactor(lane, new stage), "
         "got split_reduction"},
        {"TooFewArguments", [] { parse("y.split(m, mo, mi)\n"); },
         "expected split(axis, outer, inner, factor[, tail]), got 3 arguments"},
        {"TooManyArguments", [] { parse("y.parallel(m, n)\n"); },
         "expected parallel(axis), got 2 arguments"},
        {"ArgumentsForNone", [] { parse("y.compute_root(m)\n"); },
         "expected compute_root(), got 1 argument"},
        {"NothingToReorder", [] { parse("y.reorder()\n"); }, "got 0 arguments"},
        {"NumberForAnAxis", [] { parse("y.parallel(3)\n"); },
         "line 2, column 12: expected an axis for argument 1 of parallel(axis), got '3'"},
        {"NumberForAnOperation", [] { parse("mm.compute_at(3, m)\n"); },
         "expected an operation for argument 1"},
        {"NameForAFactor", [] { parse("y.split(m, mo, mi, six)\n"); },
         "line 2, column 20: expected an integer for argument 4"},
        {"ZeroFactor", [] { parse("y.split(m, mo, mi, 0)\n"); },
         "argument 4 (factor) of split: expected a positive integer, got 0"},
        {"NegativeFactor", [] { parse("y.tile(m, n, mo, no, mi, ni, 6, -64)\n"); },
         "argument 8 (factor) of tile: expected a positive integer, got -64"},
        {"HugeFactor", [] { parse("y.split(m, mo, mi, 99999999999999999999)\n"); },
         "expected a name or an integer that fits 64 bits"},
        {"FractionalFactor", [] { parse("y.split(m, mo, mi, 1.5)\n"); },
         "expected a name or an integer, got '1.5'"},
        {"UnknownTail", [] { parse("y.split(m, mo, mi, 6, guarded)\n"); },
         "expected a tail (automatic, guard, predicate, round_up, shift_inwards, predicate_loads "
         "or "
         "predicate_stores), got 'guarded'"},
        {"NumberForATail", [] { parse("y.split(m, mo, mi, 6, 7)\n"); }, "expected a tail"},
        {"UnknownMemory", [] { parse("mm.store_in(cache)\n"); },
         "expected a memory (automatic, heap, stack, registers or scratchpad), got 'cache'"},
        {"UnknownOperation", [] { parse("y.parallel(m)\nz.parallel(m)\n"); },
         "line 3, column 1: z.parallel(m): expected an operation that has loops (mm or y), got z"},
        {"AxisThatIsNotThere", [] { parse("y.parallel(m)\n\ny.split(q, qo, qi, 4)\n"); },
         "line 4, column 1: y.split(q, qo, qi, 4): expected a loop of y (m or n), got q"},
        {"AxisThatIsGone", [] { parse("y.split(m, mo, mi, 6)\ny.parallel(m)\n"); },
         "line 3, column 1: y.parallel(m): expected a loop of y (mo, mi or n), got m"},
        {"LoopThatIsNotThere", [] { parse("mm.compute_at(y, no)\ny.parallel(m)\n"); },
         "line 2, column 1: mm.compute_at(y, no): expected a loop of y (m or n), got no"},
        {"ReductionAxisAfterCacheWrite", [] { parse("mm.cache_write(acc)\nmm.unroll(k)\n"); },
         "line 3, column 1: mm.unroll(k): expected a loop of mm (m or n), got k"},
        {"StageThatNothingMakes", [] { parse("acc.unroll(k)\n"); },
         "line 2, column 1: acc.unroll(k): expected an operation that has loops"},
        {"StagesThatMakeEachOther", [] { parse("a.cache_write(b)\nb.cache_write(a)\n"); },
         "expected an operation that has loops (mm or y)"},
        {"CopyOfNothing", [] { parse("mm.copy_in(x)\n"); },
         "expected copy_in(operand, new stage), got 1 argument"},
        {"CopyOfANumber", [] { parse("mm.copy_in(3, c)\n"); },
         "line 2, column 12: expected an operation for argument 1 of copy_in"},
        {"CopyOfAStranger", [] { parse("mm.copy_in(q, c)\n"); },
         "line 2, column 1: mm.copy_in(q, c): expected an operand of mm (x or w), got q"},
        {"CopyWithAKeyword", [] { parse("mm.copy_in(x, int)\n"); }, "operation 'int'"},
        {"ConditionWithoutASize", [] { parse_batched("y.specialize(1 == 1)\n"); },
         "line 2, column 14: argument 1 (condition) of specialize: expected a condition over"},
        {"ConditionThatIsNone", [] { parse_batched("y.specialize()\n"); }, "got ')'"},
        {"ConditionOverAnUnknownSize", [] { parse_batched("y.specialize(C == 1)\n"); },
         "expected a size (B), got 'C'"},
        {"ConditionOverALoop", [] { parse_batched("y.specialize(b == 1)\n"); }, "'b'"},
        {"ConditionThatIsANumber", [] { parse_batched("y.specialize(B + 1)\n"); }, "got B + 1"},
        {"ConditionThatIsOpen", [] { parse_batched("y.specialize(B == 1\n"); }, "got end of line"},
        {"TwoConditions", [] { parse_batched("y.specialize(B == 1, B == 2)\n"); },
         "expected ')', got ','"},
        {"AlternativeWithoutAName", [] { parse_batched("y.alternative(B == 1)\n"); },
         "expected ',', got ')'"},
        {"AlternativeWithoutACondition", [] { parse_batched("y.alternative(few)\n"); }, "'few'"},
        {"AlternativeWithANumber", [] { parse_batched("y.alternative(B == 1, 3)\n"); },
         "expected a name for the new stage, got '3'"},
        {"AlternativeWithAKeyword", [] { parse_batched("y.alternative(B == 1, int)\n"); },
         "operation 'int'"},
        {"AlternativeWithoutASize", [] { parse_batched("y.alternative(1 == 1, few)\n"); },
         "argument 1 (condition) of alternative: expected a condition over"},
        {"LoopOfAnotherCase",
         [] {
           parse_batched(
               "y.specialize(B == 1)\ny.split(b, bo, bi, 4)\ny.specialize(B == 2)\n"
               "y.parallel(bo)\n");
         },
         "line 5, column 1: y.parallel(bo): expected a loop of y (b), got bo"},
        {"PlaceInASpecialization",
         [] { parse_batched("y.specialize(B == 1)\ny.compute_root()\n"); },
         "line 3, column 1: y.compute_root(): expected a directive on loops"},
        {"UnknownWeight", [] { parse("mm.pack(v, n, 64)\n"); },
         "mm.pack(v, n, 64): expected a weight or a constant (w), got v"},
        {"AxisWithAKeyword", [] { parse("y.split(m, for, mi, 6)\n"); },
         "line 2, column 12: axis 'for'"},
        {"StageWithAKeyword", [] { parse("mm.cache_write(int)\n"); }, "operation 'int'"},
        {"TwoOnALine", [] { parse("y.parallel(m) y.unroll(n)\n"); },
         "line 2, column 15: expected end of line, got 'y'"},
        {"NoDirective", [] { parse("y\n"); }, "expected '.', got end of line"},
        {"NoParenthesis", [] { parse("y.parallel m\n"); }, "expected '(', got 'm'"},
        {"OpenParenthesis", [] { parse("y.parallel(m\n"); },
         "expected ',' or ')', got end of line"},
        {"NulByte", [] { parse(std::string("y.\0", 3)); }, "got byte 0x00"},
    }),
    refusal_name);

// Whether reading refuses it as a schedule; else as a text.
bool is_refused_as_schedule(const std::string& line) {
  try {
    parse(line);
  } catch (const ScheduleError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("line 2, column ", 0), 0U) << error.what();
    return true;
  } catch (const Error&) {
    return false;
  }
  ADD_FAILURE() << "accepted: " << line;
  return false;
}

TEST(ScheduleText, ADirectiveThatCannotBeHonouredIsAScheduleError) {
  for (const char* line : {"z.parallel(m)\n", "y.parallel(q)\n", "mm.compute_at(z, m)\n",
                           "mm.compute_at(y, q)\n", "mm.pack(v, n, 64)\n", "mm.copy_in(q, c)\n",
                           "y.split(m, mo, mi, 0)\n", "y.split(m, n, mi, 4)\n"}) {
    EXPECT_TRUE(is_refused_as_schedule(line)) << line;
  }
}

TEST(ScheduleText, WhatIsNoDirectiveIsAnotherError) {
  for (const char* line : {"y.vectorise(n)\n", "y.parallel(n\n", "mm.store_in(cache)\n",
                           "y.split(m, mo, mi, four)\n", "y.parallel(m) y\n"}) {
    EXPECT_FALSE(is_refused_as_schedule(line)) << line;
  }
}

}  // namespace
}  // namespace emulsion
