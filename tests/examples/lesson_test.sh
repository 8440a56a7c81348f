#!/bin/bash
# Runs a lesson and looks for what it has to say, and for what it measured (//benchmarks:lowering).
#   lesson_test.sh PROGRAM WORDS...
set -u

program=$1
shift
"./$program" --lowering="${TEST_TMPDIR:?}/lowering" >"$TEST_TMPDIR/said" 2>&1 || {
  cat "$TEST_TMPDIR/said"
  echo "FAILED: $program ended with an error"
  exit 1
}
for words in "$@"; do
  grep -qF -- "$words" "$TEST_TMPDIR/said" || {
    cat "$TEST_TMPDIR/said"
    echo "FAILED: $program does not say: $words"
    exit 1
  }
done
grep -qE '^\{"loops":[0-9]+,"seconds":\[[0-9.e,-]+\],"step":"[^"]+"\}$' "$TEST_TMPDIR/lowering" || {
  echo "FAILED: $program does not say how long lowering takes"
  exit 1
}
"./$program" --help >"$TEST_TMPDIR/said" 2>&1 || {
  echo "FAILED: $program --help ended with an error"
  exit 1
}
example="./bazelw run //examples/${program##*/}"
grep -qF -- "$example" "$TEST_TMPDIR/said" || {
  cat "$TEST_TMPDIR/said"
  echo "FAILED: $program --help has no example: $example"
  exit 1
}
