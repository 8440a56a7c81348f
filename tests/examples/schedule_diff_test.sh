#!/bin/bash
# The schedule_diff program: what it prints, its JSON twin, its exit codes and what it refuses.
set -u

program=$PWD/$1
files=$PWD/examples/schedule_diff
said=${TEST_TMPDIR:?}/said

fail() {
  printf 'FAILED: %s\n' "$*"
  cat "$said"
  exit 1
}

# expect CODE ARGUMENT...: the program ends with that code.
expect() {
  local code=$1
  shift
  "$program" "$@" >"$said" 2>&1
  local found=$?
  [ "$found" = "$code" ] || fail "expected exit code $code, got $found: $*"
}

expect 1 "$files/linear.graph" "$files/naive.schedule" "$files/tiled.schedule" --size B=8
for words in "| split(m, mo, mi, 6)" "parallel y.m in B" "parallel y.mo in (B + 5) / 6" \
  "left:  0 loads, 1048576 executes, 4096 stores" "left:  work 1.000x, " "right: work 1.498x, "; do
  grep -qF -- "$words" "$said" || fail "does not print: $words"
done

expect 0 "$files/linear.graph" "$files/tiled.schedule" "$files/tiled.schedule"
grep -qF "directives: the same" "$said" || fail "the same schedule twice"
grep -qF "not counted: a size has no value" "$said" || fail "no size"

expect 1 "$files/linear.graph" "$files/naive.schedule" "$files/tiled.schedule" --json
python3 - "$said" <<'PYTHON' || fail "the JSON is not as it should be"
import json, sys
diff = json.load(open(sys.argv[1]))
assert diff["version"] == 1 and diff["same"] is False, diff
assert [stage["stage"] for stage in diff["stages"]] == ["y", "mm"], diff["stages"]
PYTHON

printf '{"version": 1, "directives": []}' >"$TEST_TMPDIR/empty.json"
expect 1 "$files/linear.graph" "$TEST_TMPDIR/empty.json" "$files/naive.schedule"

printf '{"version": 7, "directives": []}' >"$TEST_TMPDIR/newer.json"
expect 2 "$files/linear.graph" "$TEST_TMPDIR/newer.json" "$files/naive.schedule"
grep -qF "newer.json: /version: expected a version" "$said" || fail "a newer version"
expect 2 "$files/linear.graph" /no/such/file "$files/naive.schedule"
grep -qF "cannot read schedule /no/such/file: No such file" "$said" || fail "a file that is not there"
expect 2 "$files/linear.graph" "$files/naive.schedule" "$files/tiled.schedule" --size B=many
grep -qF "expected NAME=NUMBER, got B=many" "$said" || fail "a size that is no number"
BUILD_WORKING_DIRECTORY=$files expect 1 linear.graph naive.schedule tiled.schedule
expect 2 "$files/naive.schedule" "$files/naive.schedule" "$files/tiled.schedule"
grep -qF "naive.schedule: line 1, column 10: expected 'emulsion graph 1'" "$said" || fail "a schedule for a graph"

"$program" --help >"$said" 2>&1 || fail "--help"
grep -qF "bazelw run //examples/schedule_diff" "$said" || fail "--help has no example"
exit 0
