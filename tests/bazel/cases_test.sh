#!/bin/bash
# bazel/testing/cases.sh as a process sees it: small scripts that source it, their exit status and report.
. bazel/testing/cases.sh

counter=$PWD/$1
why_not_host=$PWD/$2
export EMULSION_TEST_FLOOR

# script FLOOR TEXT: runs TEXT below the line that sources cases.sh, with a folder and a report of its own.
script() {
  local folder
  folder=$(mktemp -d "$TEST_TMPDIR/script.XXXXXX")
  printf '. bazel/testing/cases.sh\n%s\n' "$2" >"$folder/inner_test.sh"
  report=$TEST_TMPDIR/report.xml
  rm -f "$report"
  EMULSION_TEST_FLOOR=$1 TEST_TMPDIR=$folder XML_OUTPUT_FILE=$report bash "$folder/inner_test.sh"
}

# counts WORDS: what .ci/count_tests.py makes of the last report.
counts() {
  printf '%s\n' "{\"id\": {\"testResult\": {\"label\": \"//a\"}}, \"testResult\": {\"status\": \"$2\",
    \"testActionOutput\": [{\"name\": \"test.xml\", \"uri\": \"file://$report\"}]}}" | tr -d '\n' >"$TEST_TMPDIR/events"
  [ "$(python3 -B "$counter" "$TEST_TMPDIR/events" 0 | tail -n 1)" = "$1" ]
}

two='check "a & <b>" true; ends_with 3 "\"quoted\"" sh -c "echo words; exit 3"'
ends_with 0 "enough cases" script 2 "$two"
says "2 passed, 0 failed, 0 skipped"
check "both are counted" counts "2 passed, 0 failed" PASSED
ends_with 1 "one too few" script 3 "$two"
says "executed 2 test cases, the floor is 3"
check "below the floor: counted" counts "2 passed, 1 failed" FAILED
ends_with 0 "each of its words is a case" script 4 "$two; says words wor"
ends_with 1 "words that are not there" script 3 "$two; says sword"
says "does not say: sword" "2 passed, 1 failed"
ends_with 1 "a command that fails" script 1 "check one false"
says "FAILED: one"
ends_with 1 "another exit code" script 1 'ends_with 0 two sh -c "echo why; exit 7"'
says "why" "two: expected exit code 0, got 7"
ends_with 1 "it goes on after a failure" script 2 "check one false; $two"
says "2 passed, 1 failed"
ends_with 1 "a skipped case does not count" script 3 "$two; skip three 'no network'"
says "skipped: three: no network" "executed 2 test cases"
check "a skipped case is counted as such" counts "2 passed, 1 failed, 1 skipped" FAILED
ends_with 1 "a skip without a reason" script 2 "$two; skip three"
ends_with 1 "no case at all" script 1 ""
says "executed 0 test cases, the floor is 1"
ends_with 1 "an end in the middle is below the floor" script 2 "check one true; exit 0; $two"
ends_with 1 "an end with an error" script 2 "$two; exit 9"
says "it ended with 9"
ends_with 1 "a floor that is no number" script many "$two"
says "expected a number of test cases, got 'many'"
ends_with 1 "no floor" script "" "$two"

export EMULSION_TEST_WHY_NOT_HOST=$why_not_host
export EMULSION_HOST_TARGET=x86-64-linux-avx512_sapphirerapids-avx512_zen5
ends_with 0 "a host that no CPU is" script 2 "$two"
says "skipped: all: needs x86-64-linux-avx-avx2-avx512-" "0 passed, 0 failed, 1 skipped"
EMULSION_HOST_TARGET=x86-64-v9
ends_with 1 "a host that is no target" script 2 "$two"
says "EMULSION_HOST_TARGET: "
EMULSION_HOST_TARGET=x86-64-linux
ends_with 0 "a host that this CPU is" script 2 "$two"
