#!/bin/bash
# The tracker of fusions as a program: it measures, remembers, learns and says what it knows.
#   fusion_tracker_test.sh PROGRAM
. bazel/testing/cases.sh

program=$PWD/$1
cd "$TEST_TMPDIR" || exit 1
track() { "$program" --database=fusion.db "$@"; }

ends_with 1 "nothing was measured yet" track
says "fusion database fusion.db: expected a database that is there"
ends_with 0 "a measurement" track --pattern=add+relu --shape=6x10 --repeats=2 --config=fusion.json --json=all.json
says "add+relu at 6x10: " "times as fast fused, 2 runs" "unfused " "2 kernel calls" "measurements: 1"
check "the config has it" grep -q '"shape_class": "4x8"' fusion.json
check "the JSON has it" grep -q '"measurements": 1' all.json

# As if it had been slower.
sed -i 's/"speed_up": .*/"speed_up": 0.5,/' fusion.json
cat >pair.graph <<'END'
emulsion graph 1
input x: f32[6, 10]
input z: f32[6, 10]
t[i0: 6, i1: 10] = x[i0, i1] + z[i0, i1]
y[i0: 6, i1: 10] = max(t[i0, i1], 0f)
output y
END
EMULSION_FUSION=fusion.json ends_with 0 "a graph" track --graph=pair.graph
says "elementwise chain, t -> y: not fused: expected add+relu at shapes of 4x8 to gain, measured 0.50 of unfused on this machine, 2 runs" \
  "decisions changed by measurement: 1" "fusions applied: 0"
ends_with 0 "statistics" track
says "measurements: 1" "average measured speed-up: " "decisions changed by measurement: 1"

ends_with 1 "a pattern without a shape" track --pattern=add+relu
says "expected --pattern and --shape together"
ends_with 1 "a pattern that is none" track --pattern=gemm --shape=4x4
says "got gemm; legal: as in matmul+bias+relu"
ends_with 1 "a shape that is none" track --pattern=add+relu --shape=4xB
says "expected extents above 0 as in 512x1024x64, got 4xB"
echo "no database, and long enough to be looked at as one" >text.db
ends_with 1 "a file that is no database" "$program" --database=text.db
says "fusion database text.db: expected a database that is not damaged"
ends_with 0 "--help" "$program" --help
says "./bazelw run -c opt //benchmarks:fusion_tracker -- --database=fusion.db"
