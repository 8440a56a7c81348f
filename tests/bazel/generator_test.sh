#!/bin/bash
# The generator of a kernel, run as a program: equal requests give equal bytes in any directory, and what it
# refuses ends with 1, says why, and leaves nothing behind.
set -u

generator=$PWD/$1
bias=$PWD/$2
schedule=$PWD/$3
schedule_json=$PWD/$4
fused_rows=$PWD/$5
fused_rows_checked=$PWD/$6
throwing_static=$PWD/$7
work=${TEST_TMPDIR:?}
failures=0

problem() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

generate() {
  local out=$1
  shift
  case " $*" in *" --name="*) ;; *) set -- --name=tiny "$@" ;; esac
  "$generator" --target=x86-64-v3 --out="$out" --data=tests/bazel/tiny_bias.npy="$bias" "$@"
}

# refuses WHAT WORDS [ARGUMENT...]: with exit code 1, these words in the message, and no file.
refuses() {
  local what=$1 words=$2 code
  shift 2
  rm -rf "$work/refused"
  generate "$work/refused" "$@" >"$work/said" 2>&1
  code=$?
  [ "$code" = 1 ] || problem "$what: expected exit code 1, got $code"
  grep -qF -- "$words" "$work/said" || problem "$what: expected '$words', got: $(cat "$work/said")"
  [ -z "$(ls -A "$work/refused" 2>/dev/null)" ] || problem "$what: left $(ls -A "$work/refused")"
}

# Twice, from different directories, to different ones, with variables that Halide would look at.
(cd / && generate "$work/a") || problem "cannot generate"
mkdir -p "$work/else/where" && cd "$work/else/where" || exit 1
HL_DEBUG_CODEGEN=1 HL_TARGET=host-profile TZ=Asia/Tokyo generate ../../b/c 2>"$work/said" || problem "cannot generate"
[ -s "$work/said" ] && problem "a variable of Halide's had an effect: $(head -n 3 "$work/said")"
expected="tiny.a tiny.h tiny.json tiny.nest.txt tiny.schedule.txt tiny_kernel.h"
found=$(cd "$work/a" && printf '%s\n' * | LC_ALL=C sort | tr '\n' ' ')
[ "$found" = "$expected " ] || problem "expected $expected, got $found"
for file in $expected; do
  cmp "$work/a/$file" "$work/b/c/$file" || problem "$file differs"
done
cd "$work" || exit 1

# A static object of the user's source that throws ends with a message too.
"$throwing_static" --name=thrown --target=x86-64-v3 --out="$work/thrown" >"$work/said" 2>&1
code=$?
[ "$code" = 1 ] || problem "a throwing static: expected exit code 1, got $code"
grep -qF "uncaught exception: std::runtime_error: no table" "$work/said" ||
  problem "a throwing static: $(cat "$work/said")"

# A checked kernel has the words of its checks in it: of those that nothing proves, and this one has such.
words="stage y, axis 0 of y: expected an index from 0 to less than"
grep -qF "$words" "$fused_rows_checked" || problem "checked = True: no checks"
if grep -qF "$words" "$fused_rows"; then problem "checks in a kernel that has not asked for them"; fi

# A schedule that it wrote is one that it reads, and gives the same kernel.
generate "$work/again" --schedule="$work/a/tiny.schedule.txt" || problem "cannot read its own schedule"
cmp "$work/a/tiny.a" "$work/again/tiny.a" || problem "the kernel of the printed schedule differs"

# One schedule gives one kernel, as text and as JSON.
generate "$work/text" --schedule="$schedule" || problem "cannot read a schedule"
generate "$work/json" --schedule="$schedule_json" || problem "cannot read a schedule of JSON"
for file in tiny.a tiny.schedule.txt; do
  cmp "$work/text/$file" "$work/json/$file" || problem "$file of the schedule as JSON differs"
done

sed 's/"i1"/"i7"/' "$schedule_json" >"$work/bad_schedule.json"
refuses "JSON that names an axis that is not there" "bad_schedule.json: /directives/0: y.split(i7" \
  --schedule="$work/bad_schedule.json"
cp "$schedule_json" "$work/json_schedule.txt"
refuses "JSON whose name does not say so" "line 1, column 1: expected 'emulsion schedule 1'" \
  --schedule="$work/json_schedule.txt"
sed 's/split(i1,/split(i7,/' "$schedule" >"$work/bad_schedule.txt"
refuses "a schedule that names an axis that is not there" "i7" --schedule="$work/bad_schedule.txt"
grep -qF "i1" "$work/said" || problem "a schedule: the legal axes are not named: $(cat "$work/said")"
refuses "a schedule that is not there" "no_such_file" --schedule="$work/no_such_file"
refuses "an unknown feature" "avx3" --target=x86-64-linux-avx3
refuses "the host" "explicit" --target=host
refuses "a target twice" "twice" --target=x86-64-v3
refuses "a name of the C library" "C library" --name=expf
refuses "a name that is no identifier" "kernel 'a-b'" --name=a-b
refuses "an unknown option" "--fast" --fast

head -c 150 "$bias" >"$work/truncated.npy"
refuses "a truncated file" "truncated.npy" --data=tests/bazel/tiny_bias.npy="$work/truncated.npy"
"$generator" --name=tiny --target=x86-64-v3 --out="$work/no_data" >"$work/said" 2>&1
[ $? = 1 ] || problem "no data: expected exit code 1"
grep -qF "tiny_bias.npy" "$work/said" || problem "no data: $(cat "$work/said")"

: >"$work/file"
generate "$work/file/below" >"$work/said" 2>&1
[ $? = 1 ] || problem "a directory that cannot be made: expected exit code 1"
grep -qF "output directory $work/file/below" "$work/said" || problem "a directory: $(cat "$work/said")"
generate /proc/emulsion >"$work/said" 2>&1
[ $? = 1 ] || problem "a directory that cannot be written: expected exit code 1"
grep -qF "/proc/emulsion" "$work/said" || problem "a directory: $(cat "$work/said")"

"$generator" --help | grep -qF -- "--target=x86-64-v4" || problem "--help has no example"

[ "$failures" = 0 ]
