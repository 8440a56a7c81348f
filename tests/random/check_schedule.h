#ifndef EMULSION_TESTS_RANDOM_CHECK_SCHEDULE_H_
#define EMULSION_TESTS_RANDOM_CHECK_SCHEDULE_H_

// Whether a schedule changes what a program computes: the graph interpreter, which knows nothing of
// schedules, the nest interpreter and the compiled kernel agree bit for bit, for every run of the
// program. And the random schedules of a whole run, in child processes.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/entry/compile_options.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/check_emitted.h"
#include "tests/random/check_recipe.h"
#include "tests/random/random_schedule.h"
#include "tests/random/schedule_programs.h"

namespace emulsion {

// Throw std::runtime_error when the nest does not compute what the program does: run step by step,
// where it also has to keep the rules of verify_nest; compiled.
void check_interpreted(const ScheduleProgram& program, const LoopNest& nest);
void check_compiled(const ScheduleProgram& program, const LoopNest& nest,
                    const CompileOptions& options = {}, const Target& target = test_target());
// The same of a nest whose statement for Halide is not what it says (check_emitted.h). Returns what
// was compared.
EmittedCounts check_statement(const LoopNest& nest);

// Whether a CPU's backend compiles the nest: it has no tiles of a tile machine and comes to no more
// code than a compiler finishes. The others have to be refused.
bool is_compiled(const LoopNest& nest, const Target& target = test_target());

// All three, or that refusal.
EmittedCounts check_nest(const ScheduleProgram& program, const LoopNest& nest,
                         const CompileOptions& options = {}, const Target& target = test_target());
// The same of a schedule that lowers.
EmittedCounts check_schedule(const ScheduleProgram& program, const ScheduleLines& lines,
                             const CompileOptions& options = {},
                             const Target& target = test_target());
// What run_pipeline made of the program, compiled.
void check_lowered(const ScheduleProgram& program, const Lowered& lowered, const Target& target);
// That of a schedule, for plain and for checked code.
void check_both_codes(const ScheduleProgram& program, const ScheduleLines& lines);
// Checked code for one half of all, so that none leaves its memory unseen; and plain code for the
// other, since checked code has other vectors; for all with EMULSION_CHECKED=1. `turn`: how often
// the same program was there before.
CompileOptions options_of_turn(int turn);

// How many directives of each kind the schedule has.
std::map<DirectiveKind, int> directive_kinds(const Graph& graph, const ScheduleLines& lines);

// What became of one seed.
struct ScheduleResult {
  std::string failure;               // empty: none
  int refused = 0;                   // directives or schedules that were, each with an Error
  int checked = 0;                   // schedules that were accepted and change nothing
  std::map<std::string, int> kinds;  // directives of the accepted legal schedule, by their names
  EmittedCounts emitted;             // of the checked schedules
};

// Legal schedule `index` of a run from `seed`, drawn for program index % number of programs, into
// empty `lines`, as draw_legal_schedule does.
void draw_legal_schedule(uint64_t seed, int index, ScheduleLines* lines, int* refused);

// That one, checked.
ScheduleResult check_legal(uint64_t seed, int index);

// A legal schedule of the graph, then mistakes in it, until one is refused or 40 were not. Those
// that are still legal are lowered and given to `accepted`. std::runtime_error: a refusal does not
// say what it has to. `lines`, empty at first, are the ones at hand when something is thrown.
using NestCheck = std::function<void(const LoopNest& nest)>;
struct MistakeCounts {
  int refused = 0, accepted = 0;
};
MistakeCounts check_mistakes(const Graph& graph, RandomNumbers* random, ScheduleLines* lines,
                             const NestCheck& accepted);

// That, with those that are still legal checked.
ScheduleResult check_illegal(uint64_t seed, int index);

using ScheduleCheck = ScheduleResult (*)(uint64_t seed, int index);
std::vector<ScheduleResult> check_in_children(ScheduleCheck check, uint64_t seed,
                                              const std::vector<int>& indices);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_CHECK_SCHEDULE_H_
