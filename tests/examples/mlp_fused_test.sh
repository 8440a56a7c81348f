#!/bin/bash
# What mlp_fused prints, what it writes, and how it refuses a machine that is too small.
. bazel/testing/cases.sh

program=./$1
folder=$TEST_TMPDIR

has_lines() {
  [ "$(wc -l <"$2")" -eq "$1" ]
}

ends_with 0 "the program" "$program" --uops "$folder/uops.jsonl"
# Two loads for each of 4*16*8 + 4*8*16 + 4*8 multiplying executes, one for each epilogue.
says 'Fusion: 5 of 7 edges' \
  'h1    4 x  16 x   8 tiles of 32 x 32 x 32' \
  'h2    4 x   8 x  16 tiles of 32 x 32 x 32' \
  'y     4 x   1 x   8 tiles of 32 x 10 x 32' \
  'uOps: 2212 loads, 100 inits, 1156 executes, 100 stores; 3568 in all' \
  '1: load x_tile[0 .. +32, 0 .. +32] <- x[0 .. +32, 0 .. +32], 4096 bytes' \
  'results: 593664 -> 197888 elements, 66.7 % less'
check "a line for each uOp" has_lines 3568 "$folder/uops.jsonl"

# Every tile of the plan has an address; the optimum loads less than LRU does.
ends_with 0 "a plan" "$program" --plan "$folder/plan.svg" --plan-json "$folder/plan.json"
says 'the nest has 2212 loads and 100 stores, the plan 861 and 92' 'LRU             1128         321'
check "the picture is one" grep -qF '<svg xmlns=' "$folder/plan.svg"
check "the report has its loads" grep -qF '"loads": 861,' "$folder/plan.json"
ends_with 0 "a plan with LRU" "$program" --policy lru
says 'the nest has 2212 loads and 100 stores, the plan 1128 and'
ends_with 0 "lowering is measured" "$program" --lowering "$folder/lowering"
check "two lowerings" [ "$(grep -c '"seconds":\[' "$folder/lowering")" -eq 2 ]
ends_with 105 "a policy that is none" "$program" --policy fifo
ends_with 1 "no folder for the plan" "$program" --plan /nonexistent/plan.svg
says 'cannot write plan /nonexistent/plan.svg: No such file or directory'

# Paths are relative to where the user is, not to where Bazel starts the program.
BUILD_WORKING_DIRECTORY=$folder ends_with 0 "files here" "$program" --plan here.svg --uops here.jsonl
check "here.svg is the picture" cmp "$folder/plan.svg" "$folder/here.svg"
check "here.jsonl is the list" cmp "$folder/uops.jsonl" "$folder/here.jsonl"
ends_with 0 "--help" "$program" --help
says './bazelw run //examples/mlp_fused -- --target=tile-machine,'

ends_with 0 "a batch of 0" "$program" --batch 0
says '0 in all'

ends_with 1 "8192 bytes" "$program" --target tile-machine,sram=8192
says 'the limit is 8192; the largest tile that fits is 24 x 16 x 16'
ends_with 1 "a CPU" "$program" --target x86-64-v3
says '--target: expected a tile machine'
