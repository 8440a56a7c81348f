#include "dsl/schedule_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/schedule_text.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

const Axis m("m", Extent::size("B")), n("n", 512), k("k", 256);
const Axis mo("mo"), mi("mi"), no("no"), ni("ni");

struct Linear {
  Tensor x = input("x", f32, {Extent::size("B"), 256}), w = weight("w", f32, {256, 512});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n), 0.0f));
};

Schedule by_hand() {
  Linear l;
  Schedule s(l.y);
  s[l.y].tile(m, n, mo, no, mi, ni, 6, 64, Tail::guard).fuse(mo, no, Axis("t")).parallel(Axis("t"));
  s[l.y].vectorize(ni, 16).specialize(size_value("B") == 6).unroll(mi);
  s[l.mm]
      .copy_in(l.x, "x_tile")
      .cache_write("acc")
      .compute_at(l.y, Axis("t"))
      .store_in(Memory::heap);
  s["acc"].split(k, Axis("ko"), Axis("ki"), 4).reorder({n, Axis("ki"), Axis("ko"), m});
  s["acc"].pack(l.w, n, 64).compute_root();
  s["x_tile"].compute_inline();
  return s;
}

void expect_round_trip(const Schedule& schedule) {
  const std::string json = to_json(schedule);
  const Schedule read = schedule_from_json(json, schedule.graph());
  EXPECT_TRUE(read == schedule) << json;
  EXPECT_EQ(to_string(read), to_string(schedule));
  EXPECT_EQ(to_json(read), json);
}

TEST(ScheduleJson, ReadsBack) { expect_round_trip(by_hand()); }

TEST(ScheduleJson, TheEmptyScheduleHasNoDirectives) {
  const Schedule empty(Linear().y);
  EXPECT_EQ(to_json(empty), "{\n  \"version\": 1,\n  \"directives\": []\n}\n");
  expect_round_trip(empty);
}

TEST(ScheduleJson, SaysWhatTheTextSays) {
  const Schedule s = by_hand();
  EXPECT_TRUE(schedule_from_json(to_json(parse_schedule(to_string(s), s.graph())), s.graph()) == s);
}

TEST(ScheduleJson, EveryTailAndMemoryReadsBack) {
  for (int tail = 0; tail <= static_cast<int>(Tail::predicate_stores); ++tail) {
    Schedule s(Linear().y);
    s["y"].split(m, mo, mi, 6, static_cast<Tail>(tail));
    expect_round_trip(s);
  }
  for (int memory = 0; memory <= static_cast<int>(Memory::scratchpad); ++memory) {
    Schedule s(Linear().y);
    s["mm"].store_in(static_cast<Memory>(memory)).compute_at("y", n);
    expect_round_trip(s);
  }
}

std::string first_entry(const Schedule& schedule) {
  std::string json = to_json(schedule), flat;
  const size_t from = json.find("[") + 1;
  for (char c : json.substr(from, json.rfind("]") - from)) {
    if (c != '\n' && c != ' ') flat += c;
  }
  return flat;
}

TEST(ScheduleJson, EveryDirectiveReadsBack) {
  const Axis lane("lane");
  Schedule s(Linear().y);
  s["y"].prefetch("mm", m, 2).reorder({m, n});
  s["mm"].split(k, k, lane, 8).rfactor(lane, "partial").compute_at("y", n).store_at("y", m);
  s["mm"].fold_storage(n, 4).reorder_storage({m, n}).align_storage(n, 16).store_root();
  s["mm"].store_in_output("y");
  s["partial"].atomic().vectorize(lane).hoist_storage("y", m).compute_with("mm", m).tensorize(m);
  expect_round_trip(s);
}

TEST(ScheduleJson, LayoutsAreOfTheOperation) {
  Schedule s(Linear().y);
  s["mm"].align_storage(n, 16);
  EXPECT_EQ(
      first_entry(s),
      R"({"kind":"AlignStorage","func":"mm","vars":[{"name":"n","rvar":false}],"exprs":[16]})");
}

TEST(ScheduleJson, ASplitIsHalides) {
  Schedule s(Linear().y);
  s["y"].split(m, mo, mi, 6, Tail::guard);
  EXPECT_EQ(
      first_entry(s),
      R"({"kind":"Split","func":"y","vars":[{"name":"m","rvar":false},)"
      R"({"name":"mo","rvar":false},{"name":"mi","rvar":false}],"exprs":[6],"tail":"guard"})");
}

TEST(ScheduleJson, LoopsOfAReductionAreOfTheUpdate) {
  Schedule s(Linear().y);
  s["mm"].split(k, Axis("ko"), Axis("ki"), 4);
  EXPECT_EQ(first_entry(s),
            R"({"kind":"Split","func":"mm","stage":1,"vars":[{"name":"k","rvar":true},)"
            R"({"name":"ko","rvar":true},{"name":"ki","rvar":true}],"exprs":[4]})");
}

TEST(ScheduleJson, APlaceInAReductionLoopSaysSo) {
  Schedule s(Linear().y);
  s["y"].compute_with("mm", Axis("ko"));
  s["mm"].split(k, Axis("ko"), Axis("ki"), 4);
  EXPECT_EQ(first_entry(s).rfind(R"({"kind":"ComputeWith","func":"y","at_func":"mm",)"
                                 R"("at_var":{"name":"ko","rvar":true}})",
                                 0),
            0U)
      << first_entry(s);
}

TEST(ScheduleJson, ANameThatIsGivenAgainReadsBack) {
  Schedule s(Linear().y);
  s["mm"]
      .split(k, Axis("ko"), Axis("ki"), 4)
      .rfactor(Axis("ki"), "part")
      .fuse(m, n, k)
      .parallel(k)
      .specialize(size_value("B") == 1);
  s["mm"].unroll(Axis("ki"));
  expect_round_trip(s);
}

TEST(ScheduleJson, APartitionNamesItsLoop) {
  Schedule s(Linear().y);
  s["mm"].partition(k);
  EXPECT_EQ(first_entry(s),
            R"({"kind":"Partition","func":"mm","stage":1,"vars":[{"name":"k","rvar":true}]})");
  expect_round_trip(s);
}

TEST(ScheduleJson, ACutHasAnIndex) {
  Schedule s(Linear().y);
  s["y"].cut(n, Extent::size("B") * 2 - 1);
  EXPECT_EQ(first_entry(s),
            R"({"kind":"Cut","func":"y","vars":[{"name":"n","rvar":false}],"at":"2*B-1"})");
  expect_round_trip(s);
}

TEST(ScheduleJson, AFusionNamesTheInnerLoopFirst) {
  Schedule s(Linear().y);
  s["y"].fuse(m, n, Axis("t"));
  EXPECT_EQ(first_entry(s), R"({"kind":"Fuse","func":"y","vars":[{"name":"n","rvar":false},)"
                            R"({"name":"m","rvar":false},{"name":"t","rvar":false}]})");
}

TEST(ScheduleJson, ACopyBelongsToWhatItCopies) {
  Schedule s(Linear().y);
  s["mm"].copy_in("x", "x_tile");
  EXPECT_EQ(first_entry(s), R"({"kind":"In","func":"x","ref_funcs":["mm"],"produces":"x_tile"})");
}

TEST(ScheduleJson, AnAlternativeHasAConditionAndANewOperation) {
  Schedule s(Linear().y);
  s["mm"].alternative(size_value("B") <= 4, "few");
  EXPECT_EQ(first_entry(s),
            R"({"kind":"Alternative","func":"mm","condition":"B<=4","produces":"few"})");
  s["few"].parallel(m);
  expect_round_trip(s);
}

TEST(ScheduleJson, AComputedPartHasAnAxisAndANewOperation) {
  Schedule s(Linear().y);
  s["y"].precompute(n, "once");
  EXPECT_EQ(
      first_entry(s),
      R"({"kind":"Precompute","func":"y","vars":[{"name":"n","rvar":false}],"produces":"once"})");
  s["once"].unroll(n);
  expect_round_trip(s);
}

TEST(ScheduleJson, APlaceIsAnOperationAndALoop) {
  Schedule s(Linear().y);
  s["mm"].compute_at("y", m);
  EXPECT_EQ(first_entry(s),
            R"({"kind":"ComputeAt","func":"mm","at_func":"y","at_var":{"name":"m","rvar":false}})");
}

TEST(ScheduleJson, WhatIsInASpecializationNamesIt) {
  Schedule s(Linear().y);
  s["y"].specialize(size_value("B") == 1).parallel(n);
  EXPECT_EQ(first_entry(s),
            R"({"kind":"Specialize","func":"y","condition":"B==1"},{"kind":"Parallel","func":"y",)"
            R"("vars":[{"name":"n","rvar":false}],"specialize":["B==1"]})");
}

// One directive in a file of its own; single quotes stand for double ones.
std::string file_of(const std::string& directive) {
  std::string text = "{'version': 1, 'directives': [" + directive + "]}";
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

Schedule read(const std::string& directives) {
  return schedule_from_json(file_of(directives), Graph(Linear().y));
}

std::string parallel(const std::string& more) {
  return "{'kind': 'Parallel', 'func': 'y', 'vars': [{'name': 'm'}]" + more + "}";
}

TEST(ScheduleJson, StageAndRvarMayBeLeftOut) {
  EXPECT_EQ(to_string(read(parallel(""))), "emulsion schedule 1\ny.parallel(m)\n");
}

TEST(ScheduleJson, CutAnywhereItIsAnError) {
  const std::string json = to_json(by_hand());
  const Graph graph(Linear().y);
  for (size_t length = 0; length + 2 < json.size(); length += 7) {
    EXPECT_THROW(schedule_from_json(json.substr(0, length), graph), Error) << length;
  }
}

// Whether reading refuses it as a schedule; else as a file.
bool is_refused_as_schedule(const std::string& directives) {
  try {
    read(directives);
  } catch (const ScheduleError&) {
    return true;
  } catch (const Error&) {
    return false;
  }
  ADD_FAILURE() << "accepted: " << directives;
  return false;
}

TEST(ScheduleJson, ADirectiveThatCannotBeHonouredIsAScheduleError) {
  for (const char* directives : {
           "{'kind':'Unroll','func':'y','vars':[{'name':'q'}]}",
           "{'kind':'ComputeRoot','func':'z'}",
           "{'kind':'ComputeAt','func':'mm','at_func':'z','at_var':{'name':'m'}}",
           "{'kind':'ComputeAt','func':'mm','at_func':'y','at_var':{'name':'q'}}",
           "{'kind':'Pack','func':'mm','ref_funcs':['v'],'vars':[{'name':'n'}],'exprs':[4]}",
           "{'kind':'Unroll','func':'y','vars':[{'name':'n','rvar':true}]}",
           "{'kind':'FoldStorage','func':'mm','vars':[{'name':'n'}],'exprs':[0]}",
           "{'kind':'Specialize','func':'y','condition':'1 == 1'}",
       }) {
    EXPECT_TRUE(is_refused_as_schedule(directives)) << directives;
  }
}

TEST(ScheduleJson, WhatIsNoDirectiveIsAnotherError) {
  for (const char* directives : {
           "{'kind':'Unrol','func':'y','vars':[{'name':'n'}]}",
           "{'kind':'Unroll','func':'y','vars':[]}",
           "{'kind':'Unroll','func':'y','vars':[{'name':'n','rvar':1}]}",
           "{'kind':'Specialize','func':'y','condition':'B =='}",
       }) {
    EXPECT_FALSE(is_refused_as_schedule(directives)) << directives;
  }
}

class ScheduleJsonRefusal : public RefusalTest {};
TEST_P(ScheduleJsonRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, ScheduleJsonRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"Nothing", [] { schedule_from_json("", Graph(Linear().y)); },
         "schedule JSON: parse error"},
        {"NoJson", [] { schedule_from_json("emulsion schedule 1\n", Graph(Linear().y)); },
         "parse error at line 1"},
        {"AnArray", [] { schedule_from_json("[]", Graph(Linear().y)); },
         "the whole: expected an object, got an array"},
        {"NoVersion", [] { schedule_from_json(R"({"directives": []})", Graph(Linear().y)); },
         "expected the field \"version\", got none"},
        {"NewerVersion",
         [] { schedule_from_json(R"({"version": 2, "directives": []})", Graph(Linear().y)); },
         "/version: expected a version of the schedule format that this library reads (known: 1), "
         "got 2"},
        {"VersionAsText",
         [] { schedule_from_json(R"({"version": "1", "directives": []})", Graph(Linear().y)); },
         "/version: expected an integer of 64 bits, got a string"},
        {"NoDirectives", [] { schedule_from_json(R"({"version": 1})", Graph(Linear().y)); },
         "expected the field \"directives\", got none"},
        {"DirectivesThatAreNoArray",
         [] { schedule_from_json(R"({"version": 1, "directives": {}})", Graph(Linear().y)); },
         "/directives: expected an array, got an object"},
        {"AnotherFieldAtTheTop",
         [] {
           schedule_from_json(R"({"version": 1, "directives": [], "x": 1})", Graph(Linear().y));
         },
         "expected a field of these: version or directives; got \"x\""},
        {"DirectiveThatIsText", [] { read("'y.parallel(m)'"); },
         "/directives/0: expected an object, got a string"},
        {"NoKind", [] { read("{'func': 'y'}"); },
         "/directives/0: expected the field \"kind\", got none"},
        {"UnknownKind", [] { read("{'kind': 'GpuBlocks', 'func': 'y'}"); },
         "/directives/0/kind: expected a directive (Split, Fuse, Reorder"},
        {"MisspeltKind", [] { read("{'kind': 'Vectorise', 'func': 'y'}"); },
         "got Vectorise; nearest: Vectorize"},
        {"KindOfTheTextForm", [] { read("{'kind': 'split', 'func': 'y'}"); },
         "got split; nearest: Split"},
        {"NoFunc", [] { read("{'kind': 'ComputeRoot'}"); },
         "/directives/0: expected the field \"func\", got none"},
        {"FuncThatIsNoName", [] { read("{'kind': 'ComputeRoot', 'func': '1y'}"); },
         "/directives/0/func: operation '1y'"},
        {"FuncThatIsANumber", [] { read("{'kind': 'ComputeRoot', 'func': 1}"); },
         "/directives/0/func: expected a string, got an integer"},
        {"UnknownField", [] { read(parallel(", 'taill': 'guard'")); },
         "/directives/0: expected a field of these: kind, func, stage, specialize or vars; got "
         "\"taill\""},
        {"FieldOfAnotherKind", [] { read(parallel(", 'tail': 'guard'")); }, "got \"tail\""},
        {"OneFieldTwice", [] { read(parallel(", 'func': 'mm'")); },
         "expected each field once, got \"func\" twice"},
        {"NoVars", [] { read("{'kind': 'Parallel', 'func': 'y'}"); },
         "/directives/0: expected the field \"vars\", got none"},
        {"TooManyVars",
         [] { read("{'kind': 'Parallel', 'func': 'y', 'vars': [{'name': 'm'}, {'name': 'n'}]}"); },
         "/directives/0/vars: expected 1 element, got 2"},
        {"NothingToReorder", [] { read("{'kind': 'Reorder', 'func': 'y', 'vars': []}"); },
         "/directives/0/vars: expected at least one element, got 0"},
        {"VarThatIsText", [] { read("{'kind': 'Parallel', 'func': 'y', 'vars': ['m']}"); },
         "/directives/0/vars/0: expected an object, got a string"},
        {"VarWithoutName", [] { read("{'kind': 'Parallel', 'func': 'y', 'vars': [{}]}"); },
         "/directives/0/vars/0: expected the field \"name\", got none"},
        {"RvarThatIsANumber",
         [] { read("{'kind': 'Parallel', 'func': 'y', 'vars': [{'name': 'm', 'rvar': 1}]}"); },
         "/directives/0/vars/0/rvar: expected a boolean, got an integer; legal: true, false, or no "
         "\"rvar\""},
        {"RvarThatIsNull",
         [] { read("{'kind': 'Parallel', 'func': 'y', 'vars': [{'name': 'm', 'rvar': null}]}"); },
         "/directives/0/vars/0/rvar: expected a boolean, got null"},
        {"RvarThatIsNone",
         [] { read("{'kind': 'Parallel', 'func': 'y', 'vars': [{'name': 'm', 'rvar': true}]}"); },
         "schedule JSON: /directives/0/vars/0/rvar: y.parallel(m): expected false, since m is of "
         "no "
         "reduction axis, got true; legal: false, or no \"rvar\""},
        {"RvarThatIsSaidToBeNone",
         [] {
           read(
               "{'kind': 'Parallel', 'func': 'y', 'vars': [{'name': 'm', 'rvar': false}]}, "
               "{'kind': 'Unroll', 'func': 'mm', 'vars': [{'name': 'k', 'rvar': false}]}");
         },
         "/directives/1/vars/0/rvar: mm.unroll(k): expected true, since k is of a reduction axis, "
         "got false; legal: true, or no \"rvar\""},
        {"RvarOfWhatASplitMakes",
         [] {
           read(
               "{'kind':'Split','func':'mm','vars':[{'name':'k','rvar':true},"
               "{'name':'ko','rvar':true},{'name':'ki','rvar':false}],'exprs':[4]}");
         },
         "/directives/0/vars/2/rvar: mm.split(k, ko, ki, 4): expected true, since ki is"},
        {"RvarOfAFusion",
         [] {
           read(
               "{'kind':'Fuse','func':'y','vars':[{'name':'n','rvar':true},"
               "{'name':'m'},{'name':'t'}]}");
         },
         "/directives/0/vars/0/rvar: y.fuse(m, n, t): expected false, since n is of no"},
        {"RvarOfAPlace",
         [] {
           read(
               "{'kind':'ComputeAt','func':'mm','at_func':'y',"
               "'at_var':{'name':'m','rvar':true}}");
         },
         "/directives/0/at_var/rvar: mm.compute_at(y, m): expected false, since m is of no"},
        {"RvarOfAnAxisOfAPack",
         [] {
           read(
               "{'kind':'Pack','func':'mm','ref_funcs':['w'],"
               "'vars':[{'name':'n','rvar':true}],'exprs':[4]}");
         },
         "/directives/0/vars/0/rvar: mm.pack(w, n, 4): expected false, since n is of no"},
        {"SecondUpdate", [] { read(parallel(", 'stage': 2")); },
         "/directives/0/stage: expected 0 or 1: an operation has one update at most, got 2"},
        {"ZeroFactor",
         [] {
           read(
               "{'kind':'Split','func':'y','vars':[{'name':'m'},{'name':'mo'},"
               "{'name':'mi'}],'exprs':[0]}");
         },
         "/directives/0/exprs/0: expected a positive integer, got 0"},
        {"HugeFactor",
         [] {
           read(
               "{'kind':'Split','func':'y','vars':[{'name':'m'},{'name':'mo'},"
               "{'name':'mi'}],'exprs':[18446744073709551615]}");
         },
         "expected an integer of 64 bits, got 18446744073709551615"},
        {"FactorWithAFraction",
         [] {
           read(
               "{'kind':'Split','func':'y','vars':[{'name':'m'},{'name':'mo'},"
               "{'name':'mi'}],'exprs':[1.5]}");
         },
         "got a number with a fraction"},
        {"TailOfAnEnum",
         [] {
           read(
               "{'kind':'Split','func':'y','vars':[{'name':'m'},{'name':'mo'},"
               "{'name':'mi'}],'exprs':[4],'tail':1}");
         },
         "/directives/0/tail: expected a string, got an integer"},
        {"UnknownTail",
         [] {
           read(
               "{'kind':'Split','func':'y','vars':[{'name':'m'},{'name':'mo'},"
               "{'name':'mi'}],'exprs':[4],'tail':'GuardWithIf'}");
         },
         "/directives/0/tail: expected automatic, guard,"},
        {"UnknownMemory", [] { read("{'kind':'StoreIn','func':'mm','memory_type':'cache'}"); },
         "/directives/0/memory_type: expected automatic, heap"},
        {"PlaceWithoutLoop", [] { read("{'kind':'ComputeAt','func':'mm','at_func':'y'}"); },
         "/directives/0: expected the field \"at_var\", got none"},
        {"CopyForTwo",
         [] { read("{'kind':'In','func':'x','ref_funcs':['mm','y'],'produces':'c'}"); },
         "/directives/0/ref_funcs: expected 1 element, got 2"},
        {"ConditionThatDoesNotParse",
         [] { read("{'kind':'Specialize','func':'y','condition':'B =='}"); },
         "/directives/0/condition: line 1"},
        {"ConditionAndMore",
         [] { read("{'kind':'Specialize','func':'y','condition':'B == 1 B'}"); },
         "/directives/0/condition: line 1, column 8: expected the end, got 'B'"},
        {"ConditionOverNothing",
         [] { read("{'kind':'Specialize','func':'y','condition':'1 == 1'}"); },
         "/directives/0/condition: argument 1 (condition) of specialize"},
        {"AlternativeWithoutAName",
         [] { read("{'kind':'Alternative','func':'mm','condition':'B == 1'}"); }, "produces"},
        {"AlternativeOnNoSize",
         [] { read("{'kind':'Alternative','func':'mm','condition':'1 == 1','produces':'few'}"); },
         "/directives/0/condition: argument 1 (condition) of alternative"},
        {"CaseThatIsNotOpen", [] { read(parallel(", 'specialize': ['B == 1']")); },
         "/directives/0/specialize: expected none, since no Specialize of y stands in front of it, "
         "got "
         "\"B == 1\""},
        {"CaseThatIsNotNamed",
         [] { read("{'kind':'Specialize','func':'y','condition':'B == 1'}, " + parallel("")); },
         "/directives/1/specialize: expected the condition in front of it, \"B == 1\", got none"},
        {"UnknownLoop", [] { read("{'kind':'Unroll','func':'y','vars':[{'name':'q'}]}"); },
         "/directives/0: y.unroll(q): expected a loop of y (m or n), got q"},
        {"OneStageMadeTwice",
         [] {
           read(
               "{'kind':'CacheWrite','func':'mm','produces':'acc'}, "
               "{'kind':'In','func':'mm','ref_funcs':['y'],'produces':'acc'}");
         },
         "expected a name that no operation has, got acc"},
        {"StageThatNothingMakes", [] { read("{'kind':'ComputeRoot','func':'acc'}"); },
         "/directives/0: acc.compute_root(): expected an operation that has loops"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion
