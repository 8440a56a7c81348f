#!/bin/bash
# The benchmark of lowering, as a program: it knows all lessons, runs those that are named, and says which
# steps take too long. No time is looked at: a lesson says what it measured.
#   lowering_test.sh PROGRAM
. bazel/testing/cases.sh

program=$PWD/$1
cd "$TEST_TMPDIR" || exit 1

ends_with 0 "the list" "$program" --benchmark_list_tests
for number in $(seq -w 1 15); do says "lesson_${number}_"; done
says "mlp_fused, each of its steps" "derived, softmax/emulsion"

# A lesson that took so many milliseconds.
lesson() {
  printf '#!/bin/sh\necho "{\\"loops\\": 3, \\"seconds\\": [0.0%s], \\"step\\": \\"A step.\\"}" >${1#--lowering=}\n' \
    "$1" >"lesson_$1"
  chmod +x "lesson_$1"
}
lesson 09
lesson 10
measure() { "$program" --benchmark_filter=nothing --json=lowering.json "$@"; }
ends_with 0 "a lesson that is named" measure lesson_09
says "lesson_09, A step. (3 loops)"
check "9 ms are no loss" [ "$(grep -c "the mark is" "$said")" -eq 0 ]
check "no other lesson is run" [ "$(grep -c "running " "$said")" -eq 1 ]
ends_with 0 "a lesson that takes long" measure lesson_10
says "lesson_10, A step. (3 loops): 10.000 ms, the mark is 10 ms"
ends_with 1 "no such lesson" measure lesson_77
says "lesson_77"
