#!/bin/bash
# The test of a kernel for two targets, of which no processor has the first: its cases are skipped, with what they
# need, and count; those of the second run.
#   kernel_needs_test.sh KERNEL_TEST NEARLY_WHOLE_TEST
. bazel/testing/cases.sh

kernel_test() {
  env -u XML_OUTPUT_FILE EMULSION_TEST_FLOOR="$1" "./$kernel" "${@:2}"
}
kernel=$1 nearly_whole=$2

# Its cases: as many of each target, and one more.
cases=$(kernel_test 1 --gtest_list_tests | grep -c '^  ')
of_each=$((cases / 2))
ends_with 0 "the floor is all cases" kernel_test "$cases"
says "[  PASSED  ] $((of_each + 1)) tests" "[  SKIPPED ] $of_each tests" \
  "KernelTest.AgreesWithTheInterpreter/target0" \
  "needs x86-64-linux-avx-avx2-avx512-" "; this CPU has no "
ends_with 1 "one case more" kernel_test "$((cases + 1))"
says "the suite has $cases test cases, the floor is $((cases + 1))"

# The attribute test_tolerance, which Bazel hands over as a text.
for tolerance in loose -1 nan 0.1x ""; do
  ends_with 1 "the tolerance '$tolerance'" env EMULSION_TEST_TOLERANCE="$tolerance" env -u XML_OUTPUT_FILE "./$kernel"
  says "test_tolerance: expected a number of 0 or more, got \"$tolerance\""
done
ends_with 0 "the tolerance 1e-3" env EMULSION_TEST_TOLERANCE=1e-3 env -u XML_OUTPUT_FILE EMULSION_TEST_FLOOR=1 "./$kernel"

# Where whole numbers stay whole nothing may differ, whatever the tolerance.
ends_with 0 "a factor that is not whole" env -u XML_OUTPUT_FILE EMULSION_TEST_FLOOR=1 "./$nearly_whole"
for tolerance in 1e-4 1e-2; do
  ends_with 1 "another factor, the tolerance $tolerance" env -u XML_OUTPUT_FILE EMULSION_TEST_FLOOR=1 \
    EMULSION_TEST_WHOLE_FACTOR=1 EMULSION_TEST_TOLERANCE=$tolerance "./$nearly_whole"
done
says "KernelTest.AgreesWithTheInterpreter/target0"
