#!/bin/bash
# Every benchmark helps in the same way, and names itself in an example that works.
#   program_help_test.sh PROGRAM...
set -u

failed=0
for program in "$@"; do
  name=${program##*/}
  "./$program" --help >"${TEST_TMPDIR:?}/said" 2>&1 || {
    echo "FAILED: $name --help ended with an error"
    failed=1
  }
  for words in "./bazelw run -c opt //benchmarks:$name -- --" "--json=FILE" "--quick" "--benchmark_filter="; do
    grep -qF -- "$words" "$TEST_TMPDIR/said" || {
      cat "$TEST_TMPDIR/said"
      echo "FAILED: $name --help does not say: $words"
      failed=1
    }
  done
  "./$program" --no-such-option >"$TEST_TMPDIR/said" 2>&1
  [ $? = 2 ] || {
    cat "$TEST_TMPDIR/said"
    echo "FAILED: $name takes --no-such-option"
    failed=1
  }
done
[ $# -ge 7 ] || {
  echo "FAILED: expected seven programs or more, got $#"
  failed=1
}
exit $failed
