#!/bin/bash
# Runs a lesson and looks for what it has to say.  lesson_test.sh PROGRAM WORDS...
set -u

program=$1
shift
"./$program" >"${TEST_TMPDIR:?}/said" 2>&1 || {
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
