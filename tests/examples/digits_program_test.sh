#!/bin/bash
# The digits program itself: what it prints, its JSON twin, and what it refuses.
. bazel/testing/cases.sh

program=$PWD/$1

ends_with 0 "the program" "$program" --repeats=1 --json="$TEST_TMPDIR/digits.json"
says "held-out images" "operator by operator" "ratio" "hidden1:"
check "the JSON is as it should be" python3 - "$TEST_TMPDIR/digits.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
assert result["accuracy"]["images"] == 450, result["accuracy"]
assert result["accuracy"]["percent"] >= 97, result["accuracy"]
assert sorted((line["images"], line["threads"]) for line in result["speed"]) == [
    (1, "1"), (1, "all"), (450, "1"), (450, "all")], result["speed"]
assert "emulsion schedule" in result["schedules"]["fused"]["text"]
PYTHON
ends_with 0 "--help" "$program" --help
says "bazelw run //examples/digits"

ends_with 1 "data that is not there" "$program" --data=/no/such/file
says "/no/such/file"
ends_with 105 "no repeats" "$program" --repeats=0
ends_with 1 "JSON to nowhere" "$program" --no-schedules --repeats=1 --json=/no/such/folder/x.json
says "/no/such/folder/x.json"
