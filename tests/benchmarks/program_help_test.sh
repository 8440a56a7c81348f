#!/bin/bash
# Every benchmark helps in the same way, and names itself in its example.
#   program_help_test.sh PROGRAM...
. bazel/testing/cases.sh

for program in "$@"; do
  name=${program##*/}
  ends_with 0 "$name --help" "./$program" --help
  says "./bazelw run -c opt //benchmarks:$name -- --" "--json=FILE" "--quick" "--benchmark_filter="
  ends_with 2 "$name --no-such-option" "./$program" --no-such-option
done
