#!/bin/sh
# The floor as a process sees it: the exit status of a suite whose floor it does not reach.
suite=$1
expect() {
  if [ "$2" != "$3" ]; then
    echo "$1: expected exit status $2, got $3" >&2
    exit 1
  fi
}
unset XML_OUTPUT_FILE
filter='--gtest_filter=-*TheFloorReachesTheProcess'

out=$(EMULSION_TEST_FLOOR=9 "$suite" 2>&1)
expect "one case too few" 1 $?
case "$out" in
  *"executed 8 test cases, the floor is 9"*) ;;
  *) echo "the reason is not printed: $out" >&2; exit 1 ;;
esac
EMULSION_TEST_FLOOR=8 "$suite" >/dev/null 2>&1
expect "enough cases" 0 $?
EMULSION_TEST_FLOOR=9 "$suite" "$filter" >/dev/null 2>&1
expect "a filter" 0 $?
EMULSION_TEST_FLOOR=9 TEST_TOTAL_SHARDS=4 TEST_SHARD_INDEX=0 "$suite" "$filter" >/dev/null 2>&1
expect "a shard" 0 $?
EMULSION_TEST_FLOOR=9 GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=0 "$suite" >/dev/null 2>&1
expect "GoogleTest's shard" 0 $?
