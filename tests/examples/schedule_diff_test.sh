#!/bin/bash
# The schedule_diff program: what it prints, its JSON twin, its exit codes and what it refuses.
. bazel/testing/cases.sh

program=$PWD/$1
files=$PWD/examples/schedule_diff
linear=$files/linear.graph naive=$files/naive.schedule tiled=$files/tiled.schedule

ends_with 1 "two schedules" "$program" "$linear" "$naive" "$tiled" --size B=8
says "| split(m, mo, mi, 6)" "parallel y.m in B" "parallel y.mo in (B + 5) / 6" \
  "left:  0 loads, 1048576 executes, 4096 stores" "left:  work 1.000x, " "right: work 1.498x, "

ends_with 0 "one schedule twice" "$program" "$linear" "$tiled" "$tiled"
says "directives: the same" "not counted: a size has no value"

ends_with 1 "as JSON" "$program" "$linear" "$naive" "$tiled" --json
check "the JSON is as it should be" python3 - "$said" <<'PYTHON'
import json, sys
diff = json.load(open(sys.argv[1]))
assert diff["version"] == 1 and diff["same"] is False, diff
assert [stage["stage"] for stage in diff["stages"]] == ["y", "mm"], diff["stages"]
PYTHON

printf '{"version": 1, "directives": []}' >"$TEST_TMPDIR/empty.json"
ends_with 1 "a schedule of JSON" "$program" "$linear" "$TEST_TMPDIR/empty.json" "$naive"

printf '{"version": 7, "directives": []}' >"$TEST_TMPDIR/newer.json"
ends_with 2 "a newer version" "$program" "$linear" "$TEST_TMPDIR/newer.json" "$naive"
says "newer.json: /version: expected a version"
ends_with 2 "a file that is not there" "$program" "$linear" /no/such/file "$naive"
says "cannot read schedule /no/such/file: No such file"
ends_with 2 "a size that is no number" "$program" "$linear" "$naive" "$tiled" --size B=many
says "expected NAME=NUMBER, got B=many"
BUILD_WORKING_DIRECTORY=$files ends_with 1 "paths from where the user is" \
  "$program" linear.graph naive.schedule tiled.schedule
ends_with 2 "a schedule for a graph" "$program" "$naive" "$naive" "$tiled"
says "naive.schedule: line 1, column 10: expected 'emulsion graph 1'"

ends_with 0 "--version" "$program" --version
says "Emulsion "
ends_with 0 "--help" "$program" --help
says "bazelw run //examples/schedule_diff"
