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
    for option in --benchmark_filter=softmax --benchmark_repetitions=3 --benchmark_format=json --v=1; do
      ends_with 2 "$name $option" "./$program" "$option" --benchmark_list_tests
      says "was not expected: $option; what is measured is chosen by name, as an argument; see --help"
    done
    ends_with 0 "$name softmax/4x13" "./$program" --benchmark_list_tests softmax/4x13
    says "softmax/4x13"
  else
    says "--benchmark_filter="
  fi
  ends_with 2 "$name --no-such-option" "./$program" --no-such-option
done
