#!/bin/bash
# The digits program itself: what it prints, its JSON twin, and what it refuses.
set -u

program=$PWD/$1
said=${TEST_TMPDIR:?}/said

fail() {
  printf 'FAILED: %s\n' "$*"
  cat "$said"
  exit 1
}

"$program" --repeats=1 --json="$TEST_TMPDIR/digits.json" >"$said" 2>&1 || fail "ended with an error"
for words in "held-out images" "operator by operator" "ratio" "hidden1:"; do
  grep -qF "$words" "$said" || fail "does not print: $words"
done
python3 - "$TEST_TMPDIR/digits.json" >"$said" 2>&1 <<'PYTHON' || fail "the JSON is not as it should be"
import json, sys
result = json.load(open(sys.argv[1]))
assert result["accuracy"]["images"] == 450, result["accuracy"]
assert result["accuracy"]["percent"] >= 97, result["accuracy"]
assert sorted((line["images"], line["threads"]) for line in result["speed"]) == [
    (1, "1"), (1, "all"), (450, "1"), (450, "all")], result["speed"]
assert "emulsion schedule" in result["schedules"]["fused"]["text"]
PYTHON
"$program" --help >"$said" 2>&1 || fail "--help"
grep -qF "bazelw run //examples/digits" "$said" || fail "--help has no example"

"$program" --data=/no/such/file >"$said" 2>&1 && fail "data that is not there: expected an error"
grep -qF "/no/such/file" "$said" || fail "data that is not there: not named"
"$program" --repeats=0 >"$said" 2>&1 && fail "no repeats: expected an error"
"$program" --no-schedules --repeats=1 --json=/no/such/folder/x.json >"$said" 2>&1 && fail "JSON to nowhere"
grep -qF "/no/such/folder/x.json" "$said" || fail "JSON to nowhere: not named"
exit 0
