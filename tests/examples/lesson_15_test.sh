#!/bin/bash
# The benchmark lesson: what it measures, at sizes that take no time, and what it refuses. No time is
# looked at.
#   lesson_15_test.sh PROGRAM
. bazel/testing/cases.sh

program=$PWD/$1
cd "$TEST_TMPDIR" || exit 1

ends_with 0 "the lesson" "$program" --sizes=1,3 --repeats=1 --json=pairs.json --lowering=lowering
check "how long the nests of four pairs take at two sizes, both ways" [ "$(grep -c '"seconds":\[' lowering)" -eq 16 ]
says "add+relu: told to be 1.5 times as fast fused" "matmul+bias+relu: told to be 2.0" \
  "by the bytes at most 1.67" "3072 bytes moved, was 5120" "0 bytes at the peak between operations, was 1024" \
  "pairs.json: written"
check "each pair at each size, beside the literature and the bound" /usr/bin/python3 -I -c '
import json
pairs = json.load(open("pairs.json"))
names = ["add+relu", "mul+relu", "matmul+bias+relu", "affine+relu"]
assert [(p["pair"], p["kilobytes"]) for p in pairs] == [(n, k) for n in names for k in (1, 3)]
assert [p["literature"] for p in pairs[::2]] == [1.5, 1.5, 2.0, 1.4]
for p in pairs:
    fused, unfused = p["fused"], p["unfused"]
    assert p["bound_by_bytes"] == unfused["bytes_moved"] / fused["bytes_moved"] > 1, p
    assert fused["kernel_calls"] == 1 and unfused["kernel_calls"] > 1, p
    assert fused["peak_bytes"] < unfused["peak_bytes"], p
    assert abs(p["speed_up"] * fused["seconds"] / unfused["seconds"] - 1) < 1e-9, p
    for way in fused, unfused:
        assert abs(way["gigabytes_a_second"] * way["seconds"] * 1e9 / fused["bytes_moved"] - 1) < 1e-9, p
'
ends_with 0 "--help" "$program" --help
says "bazelw run -c opt //examples/lesson_15_benchmark"
ends_with 105 "a size of nothing" "$program" --sizes=16,0
ends_with 105 "no repeats" "$program" --repeats=0
ends_with 1 "nowhere to write" "$program" --json=/no/such/folder/x.json
check "nowhere to write: that alone, before the work" \
  [ "$(cat "$said")" = "error: cannot write JSON /no/such/folder/x.json: No such file or directory" ]
