#!/bin/bash
# The output groups of a kernel that are made only when they are asked for.
. bazel/testing/cases.sh

graph=$1 dump=$2 stmt=$3 asm=$4

check "the graph: $graph" [ "$(basename "$graph")" = tiny_blend.graph.txt ]
check "is a graph" grep -q "^emulsion graph" "$graph"
check "the dump: $dump" [ "$(basename "$dump")" = tiny_blend.dump.txt ]
check "has the steps" grep -q "^--- after derive_schedule" "$dump"
check "the statement: $stmt" [ "$(basename "$stmt")" = tiny_blend.stmt.txt ]
check "is Halide's" grep -q "func tiny_blend_emulsion_body_0" "$stmt"
check "the assembly: $asm" [ "$(basename "$asm")" = tiny_blend.s ]
check "has the function" grep -q "^tiny_blend_emulsion_body_0:" "$asm"
