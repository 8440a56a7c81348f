#!/bin/bash
# What mlp_fused prints, what it writes, and how it refuses a machine that is too small.
set -u

program=$1
folder=${TEST_TMPDIR:?}

fail() {
  echo "FAILED: $*"
  exit 1
}
says() {
  grep -qF -- "$1" "$folder/said" || { cat "$folder/said"; fail "$program does not say: $1"; }
}

"./$program" --uops "$folder/uops.jsonl" >"$folder/said" 2>&1 || { cat "$folder/said"; fail "error"; }
says 'Fusion: 5 of 7 edges'
says 'h1    4 x  16 x   8 tiles of 32 x 32 x 32'
says 'h2    4 x   8 x  16 tiles of 32 x 32 x 32'
says 'y     4 x   1 x   8 tiles of 32 x 10 x 32'
# Two loads for each of 4*16*8 + 4*8*16 + 4*8 multiplying executes, one for each epilogue.
says 'uOps: 2212 loads, 100 inits, 1156 executes, 100 stores; 3568 in all'
says '1: load x_tile[0 .. +32, 0 .. +32] <- x[0 .. +32, 0 .. +32], 4096 bytes'
says 'results: 593664 -> 197888 elements, 66.7 % less'
lines=$(wc -l <"$folder/uops.jsonl")
[ "$lines" -eq 3568 ] || fail "expected 3568 lines of uOps, got $lines"

# Every tile of the plan has an address; the optimum loads less than LRU does.
"./$program" --plan "$folder/plan.svg" --plan-json "$folder/plan.json" >"$folder/said" 2>&1 || fail "no plan"
says 'the nest has 2212 loads and 100 stores, the plan 861 and 92'
says 'LRU             1128         321'
grep -qF '<svg xmlns=' "$folder/plan.svg" || fail "the picture is none"
grep -qF '"loads": 861,' "$folder/plan.json" || fail "the report has no loads"
"./$program" --policy lru >"$folder/said" 2>&1 || fail "no plan with LRU"
says 'the nest has 2212 loads and 100 stores, the plan 1128 and'
"./$program" --lowering "$folder/lowering" >"$folder/said" 2>&1 || fail "lowering is not measured"
[ "$(grep -c '"seconds":\[' "$folder/lowering")" -eq 2 ] || fail "expected two lowerings"
if "./$program" --policy fifo >"$folder/said" 2>&1; then fail "a policy that is none is accepted"; fi
if "./$program" --plan /nonexistent/plan.svg >"$folder/said" 2>&1; then fail "no folder, no error"; fi
says 'cannot write plan /nonexistent/plan.svg: No such file or directory'

# Paths are relative to where the user is, not to where Bazel starts the program.
BUILD_WORKING_DIRECTORY=$folder "./$program" --plan here.svg --uops here.jsonl >"$folder/said" 2>&1 || fail "here.svg"
cmp -s "$folder/plan.svg" "$folder/here.svg" || fail "here.svg is not the picture"
cmp -s "$folder/uops.jsonl" "$folder/here.jsonl" || fail "here.jsonl is not the list"
"./$program" --help >"$folder/said" 2>&1 || fail "--help"
says './bazelw run //examples/mlp_fused -- --target=tile-machine,'

"./$program" --batch 0 >"$folder/said" 2>&1 || fail "a batch of 0 is refused"
says '0 in all'

if "./$program" --target tile-machine,sram=8192 >"$folder/said" 2>&1; then fail "8192 bytes are enough"; fi
says 'the limit is 8192; the largest tile that fits is 24 x 16 x 16'
if "./$program" --target x86-64-v3 >"$folder/said" 2>&1; then fail "a CPU is a tile machine"; fi
says '--target: expected a tile machine'
