#ifndef EMULSION_TESTS_RANDOM_CHECK_RECIPE_H_
#define EMULSION_TESTS_RANDOM_CHECK_RECIPE_H_

// Runs one recipe in every way that the library has and compares each with NumPy's answer: the
// graph interpreter, the nest interpreter without a schedule and with the derived one, and the JIT
// with the derived one. The JIT's buffers lie between pages that nobody may touch. A difference
// comes with the step of the pipeline that made it (wrong_step.h).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsl/target.h"
#include "passes/derive/derive_schedule.h"
#include "tests/random/oracle.h"
#include "tests/random/recipe.h"

namespace emulsion {

// The machine at hand with two cores, so that the same parallel loops are derived on every machine.
Target test_target();

// The same for a recipe: of half of them with a cache so small that windows slide, and of a quarter
// with one that holds nothing, so that short rows keep sums, too.
Target target_for(const Recipe& recipe);

// Siblings share loops wherever they can, also where they are too small for it to pay.
DeriveOptions test_options();

struct CheckResult {
  std::string failure;   // empty: all agree; else graph, schedule, and the first difference
  int64_t elements = 0;  // of outputs that were compared
  int64_t unknown = 0;   // of these, those where the oracle knows nothing
  int64_t ordinary = 0;  // finite and known
};

// Compiles what all kernels of a process share, half a second's work, if nothing has yet. A process
// that has done so hands it to its children.
void start_jit();

// In child processes: a crash is the failure of one recipe, not the end of the test.
std::vector<CheckResult> check_recipes(const std::vector<Recipe>& recipes,
                                       const std::vector<Answer>& answers);

// Which of the recipes fail: check_recipes with NumPy's answers, or a test's own idea.
using FindFailures = std::function<std::vector<bool>(const std::vector<Recipe>& recipes)>;
std::vector<bool> recipes_that_fail(const std::vector<Recipe>& recipes);

// A part of a recipe that fails, too: the first of its values that fails as the only output; when
// there is none, as few of its outputs as fail together.
Recipe smallest_failure(const Recipe& recipe, const FindFailures& fails = recipes_that_fail);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_CHECK_RECIPE_H_
