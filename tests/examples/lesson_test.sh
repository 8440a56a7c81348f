#!/bin/bash
# Runs a lesson and looks for what it has to say, and for what it measured (//benchmarks:lowering).
#   lesson_test.sh PROGRAM WORDS...
. bazel/testing/cases.sh

program=$1
shift
ends_with 0 "the lesson" "./$program" --lowering="$TEST_TMPDIR/lowering"
says "$@"
check "says how long lowering takes" \
  grep -qE '^\{"loops":[0-9]+,"seconds":\[[0-9.e,-]+\],"step":"[^"]+"\}$' "$TEST_TMPDIR/lowering"
ends_with 0 "--help" "./$program" --help
says "./bazelw run //examples/${program##*/}"
