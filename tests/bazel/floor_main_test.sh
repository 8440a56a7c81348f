#!/bin/bash
# The floor as a process sees it: the exit status of a suite of six cases, whole, sharded and filtered.
#   floor_main_test.sh SUITE SUITE_WITHOUT_CASES
. bazel/testing/cases.sh

suite_program=$1
without_cases=$2

# suite FLOOR [VARIABLE=VALUE...] [-- ARGUMENT...]
suite() {
  local floor=$1 variables=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    variables+=("$1")
    shift
  done
  [ $# = 0 ] || shift
  env -u XML_OUTPUT_FILE EMULSION_TEST_FLOOR="$floor" "${variables[@]}" "$suite_program" "$@"
}

ends_with 0 "enough cases" suite 6
ends_with 1 "one case too few" suite 7
says "the suite has 6 test cases, the floor is 7"
ends_with 0 "a disabled case that runs" suite 7 -- --gtest_also_run_disabled_tests

ends_with 1 "a skipped case does not count" suite 6 EMULSION_SKIP="no network"
says "executed 5 test cases, the floor is 6" "Suite.Case2: no network"
ends_with 0 "a skipped case above the floor" suite 5 EMULSION_SKIP="no network"
ends_with 1 "no reason" suite 5 EMULSION_SKIP=
says "Suite.Case2 is skipped without a reason"
ends_with 0 "a need that no CPU meets" suite 6 \
  EMULSION_SKIP="needs x86-64-linux-avx512_zen5-avx512_sapphirerapids; this CPU has no avx512_zen5"
ends_with 1 "a need that is met" suite 6 EMULSION_SKIP="needs x86-64-linux; this CPU has no x86-64"
says "is skipped, but this CPU has it"

for status in 0 1; do
  ends_with 1 "a case that ends the process with $status" suite 6 EMULSION_EXIT=$status
  says "FAILED: a case ended the process by exit()"
done

# Cases 0 and 4 are of shard 0, 1 and 5 of shard 1, case 2 is of shard 2, case 3 of shard 3.
for shard in 0 1 2 3; do
  sharded=(GTEST_TOTAL_SHARDS=4 "GTEST_SHARD_INDEX=$shard")
  ends_with 0 "shard $shard" suite 6 "${sharded[@]}"
  ends_with 1 "shard $shard of too few cases" suite 7 "${sharded[@]}"
  says "the suite has 6 test cases, the floor is 7"
  ends_with $((shard == 2)) "shard $shard, Case2 skipped" suite 6 "${sharded[@]}" EMULSION_SKIP="no network"
done
suite 6 GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=2 EMULSION_SKIP="no network" >"$said" 2>&1
says "executed 0 test cases in shard 2, the floor is 1 of 6"
ends_with 0 "a shard without cases" suite 6 GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=7
ends_with 1 "a shard without cases of too few" suite 7 GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=7
says "the suite has 6 test cases, the floor is 7"
ends_with 0 "Bazel's variables alone: all cases run" suite 6 TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=0
says "[  PASSED  ] 6 tests"
ends_with 1 "Bazel's variables alone: the whole floor" suite 7 TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=0

ends_with 0 "a filter" suite 6 -- --gtest_filter=*Case1
says "1 test cases executed; the floor of 6 is for all 6"
ends_with 0 "Bazel's filter" suite 6 TESTBRIDGE_TEST_ONLY='*Case1'
says "1 test cases executed"
ends_with 1 "a filter of too few cases" suite 7 -- --gtest_filter=*Case1
ends_with 0 "a filter that nothing passes" suite 6 -- --gtest_filter=nothing
ends_with 0 "a list" suite 7 -- --gtest_list_tests

# One suite of a program that holds several: the cases of one file.
this_file=EMULSION_TEST_SUITE=floor_main_suite_test
ends_with 0 "the suite of one file" suite 6 "$this_file"
says "[  PASSED  ] 6 tests"
ends_with 1 "the suite of one file, too few" suite 7 "$this_file"
says "the suite has 6 test cases, the floor is 7"
ends_with 0 "a disabled case of one file" suite 7 "$this_file" -- --gtest_also_run_disabled_tests
ends_with 1 "a shard of one file" suite 7 "$this_file" GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=2
says "the suite has 6 test cases, the floor is 7"
ends_with 0 "a filter of one file" suite 6 "$this_file" -- --gtest_filter=*Case1:*.Case5
says "[  PASSED  ] 2 tests" "2 test cases executed; the floor of 6 is for all 6"
ends_with 0 "a filter of one file that leaves out" suite 6 "$this_file" -- --gtest_filter=-*Case1:*.Case5
says "[  PASSED  ] 4 tests"
ends_with 1 "a file that is not there" suite 6 EMULSION_TEST_SUITE=other_test
says "the suite has 0 test cases, the floor is 6"

# GoogleTest reports these as passed.
ends_with 1 "an environment that skips all" suite 6 EMULSION_SKIP_ALL=1
says "executed 0 test cases, the floor is 6"

no_cpu=EMULSION_HOST_TARGET=x86-64-linux-avx512_sapphirerapids-avx512_zen5
ends_with 0 "a host that no CPU is" suite 6 EMULSION_TEST_NEEDS_HOST=1 "$no_cpu"
says "NeedsHost.Runs: needs x86-64-linux-avx-avx2-avx512-" "; this CPU has no " "[  SKIPPED ] 1 test"
ends_with 0 "a host that no CPU is, another shard" suite 6 EMULSION_TEST_NEEDS_HOST=1 "$no_cpu" \
  GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=1
ends_with 0 "a host that this CPU is" suite 6 EMULSION_TEST_NEEDS_HOST=1 EMULSION_HOST_TARGET=x86-64-linux
says "[  PASSED  ] 6 tests"
ends_with 0 "a host that does not matter" suite 6 "$no_cpu"
says "[  PASSED  ] 6 tests"

suite_program=$without_cases
ends_with 1 "no case at all" suite 1
says "the suite has 0 test cases, the floor is 1"
