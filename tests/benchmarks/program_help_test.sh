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
  # They time their calls themselves, by no filter of Google Benchmark's.
  case $name in
    fusion_sweep) program_of_its=softmax/4x13 ;;
    plain_sweep) program_of_its=window/7.231 ;;
    *) program_of_its= ;;
  esac
  if [ -n "$program_of_its" ]; then
    check "$name names no filter" says_nothing_of "--benchmark_filter"
    for option in --benchmark_filter=softmax --benchmark_repetitions=3 --benchmark_format=json --v=1; do
      ends_with 2 "$name $option" "./$program" "$option" --benchmark_list_tests
      says "was not expected: $option; what is measured is chosen by name, as an argument; see --help"
    done
    ends_with 0 "$name $program_of_its" "./$program" --benchmark_list_tests "$program_of_its"
    says "$program_of_its"
    for wrong in no_such_kind/1.2 "$program_of_its"x; do
      ends_with 1 "$name $wrong" "./$program" --benchmark_list_tests "$wrong"
      says "$wrong"
    done
  else
    says "--benchmark_filter="
  fi
  ends_with 2 "$name --no-such-option" "./$program" --no-such-option
done
