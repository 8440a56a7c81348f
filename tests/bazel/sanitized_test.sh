#!/bin/bash
# What emulsion_sanitized_test promises: a fault of each kind is a failure, with its name.
. bazel/testing/cases.sh

address=$PWD/$1
thread=$PWD/$2

for program in "$address" "$thread"; do
  ends_with 0 "$(basename "$program"): no fault" "$program" nothing
done

fails() { ! "$@" >"$said" 2>&1; }
goes_on() { grep -q "went on to its end" "$said"; }
# fault PROGRAM KIND WORDS: it fails, and says so.
fault() {
  check "$2 is a failure" fails "$1" "$2"
  says "$3"
}
fault "$address" "leak" "LeakSanitizer: detected memory leaks"
fault "$address" "past the end" "AddressSanitizer: heap-buffer-overflow"
fault "$address" "gone" "AddressSanitizer: heap-use-after-free"
fault "$address" "range" "runtime error: signed integer overflow"
check "nothing is computed behind it" eval '! goes_on'
fault "$thread" "race" "ThreadSanitizer: data race"
check "nothing is computed behind it" eval '! goes_on'
