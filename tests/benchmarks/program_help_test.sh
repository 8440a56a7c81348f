#!/bin/bash
# Every benchmark helps in the same way, and names itself in its example.
#   program_help_test.sh PROGRAM...
. bazel/testing/cases.sh

says_nothing_of() {
  ! grep -qF -- "$1" "$said"
}

for program in "$@"; do
  name=${program##*/}
  ends_with 0 "$name --help" "./$program" --help
  says "./bazelw run -c opt //benchmarks:$name -- --" "--json=FILE" "--quick" \
    "--benchmark_list_tests"
  # It times its calls itself, by no filter of Google Benchmark's.
  if [ "$name" = fusion_sweep ]; then
    check "$name names no filter" says_nothing_of "--benchmark_filter"
  else
    says "--benchmark_filter="
  fi
  ends_with 2 "$name --no-such-option" "./$program" --no-such-option
done
