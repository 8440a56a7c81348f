#!/bin/bash
# The generator of a kernel, run as a program: equal requests give equal bytes in any directory, and what it
# refuses ends with 1, says why, and leaves nothing behind.
. bazel/testing/cases.sh

generator=$PWD/$1
bias=$PWD/$2
schedule=$PWD/$3
schedule_json=$PWD/$4
fused_rows=$PWD/$5
fused_rows_checked=$PWD/$6
throwing_static=$PWD/$7
restless=$PWD/$8
version=$PWD/$9
abroad=$PWD/${10}
types=$PWD/${11}
work=$TEST_TMPDIR

generate() {
  local out=$1
  shift
  case " $* " in *" --name="*) ;; *) set -- --name=tiny "$@" ;; esac
  "$generator" --target=x86-64-v3 --out="$out" --data=tests/bazel/tiny_bias.npy="$bias" "$@"
}

# refuses WHAT WORDS [ARGUMENT...]: with exit code 1, these words in the message, and no file.
refuses() {
  local what=$1 words=$2
  shift 2
  rm -rf "$work/refused"
  ends_with 1 "$what" generate "$work/refused" "$@"
  says "$words"
  check "$what: leaves nothing" [ -z "$(ls -A "$work/refused" 2>/dev/null)" ]
}

# Twice, from different directories, to different ones, with variables that Halide would look at.
check "a kernel" eval '(cd / && generate "$work/a")'
mkdir -p "$work/else/where" && cd "$work/else/where" || exit 1
export HL_DEBUG_CODEGEN=1 HL_TARGET=host-profile TZ=Asia/Tokyo
ends_with 0 "with variables of Halide's" generate ../../b/c
unset HL_DEBUG_CODEGEN HL_TARGET TZ
check "a variable of Halide's has no effect" [ ! -s "$said" ]
expected="tiny.a tiny.h tiny.json tiny.nest.txt tiny.schedule.txt tiny_kernel.h"
found=$(cd "$work/a" && printf '%s\n' * | LC_ALL=C sort | tr '\n' ' ')
check "its files: $found" [ "$found" = "$expected " ]
for file in $expected; do
  check "$file twice" cmp "$work/a/$file" "$work/b/c/$file"
done
cd "$work" || exit 1

# same_bytes WHAT COMMAND...: COMMAND, which runs the generator, makes every file as above.
same_bytes() {
  local what=$1
  shift
  rm -rf "$work/same place"
  ends_with 0 "$what" "$@" --name=tiny --target=x86-64-v3 --out="$work/same place" --data=tests/bazel/tiny_bias.npy="$bias"
  check "$what: the same bytes" diff -r "$work/a" "$work/same place"
}
private() { (umask 077 && "$@"); }
same_bytes "without any environment" env -i "$generator"
same_bytes "somewhere else in the world" env LC_ALL=C.UTF-8 LANG=tr_TR.UTF-8 TZ=Pacific/Chatham "$generator"
same_bytes "for somebody without a home" env USER=nobody LOGNAME=nobody HOME=/nonexistent TMPDIR=/nonexistent "$generator"
# Another user as the program sees it; the files are ours all the same, so nobody needs to be root.
other_user="unshare --user --map-user=4321 --map-group=4321"
if [ "$($other_user id -u 2>"$said")" = 4321 ]; then
  same_bytes "for another user" $other_user "$generator"
else
  skip "for another user" "unshare: $(tail -n 1 "$said")"
fi
same_bytes "readable for nobody else" private "$generator"
same_bytes "with addresses that do not change" setarch -R "$generator"
for time in $(seq 20); do same_bytes "time $time" "$generator"; done

# A program in which numbers are written another way: by C++, and by C too where there is such a locale.
travel() {
  local to=$1
  shift
  env "$@" "$abroad" --name=tiny --target=x86-64-v3 --out="$work/$to"
}
ends_with 0 "a program at home" travel home LC_ALL=C
check "its numbers" grep -q "1234.5f" "$work/home/tiny.nest.txt"
ends_with 0 "a program that groups digits" travel abroad EMULSION_ABROAD=1
check "a program that groups digits: the same bytes" diff -r "$work/home" "$work/abroad"
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >"$said" 2>&1; then
  ends_with 0 "a program in Germany" travel germany EMULSION_ABROAD=1 LOCPATH="$work" LC_ALL=de_DE.UTF-8
  check "a program in Germany: the same bytes" diff -r "$work/home" "$work/germany"
else
  skip "a program in Germany" "localedef: $(tail -n 1 "$said")"
fi

# A static object of the user's source that throws ends with a message too.
ends_with 1 "a throwing static" "$throwing_static" --name=thrown --target=x86-64-v3 --out="$work/thrown"
says "uncaught exception: std::runtime_error: no table"

# A graph that is another one each time is refused, with what differs.
look_at() {
  echo "$1" >"$work/kind"
  rm -rf "$work/restless"
  "$restless" --name=restless --target=x86-64-v3 --out="$work/restless" --data=kind="$work/kind" --check_reproducible
}
for kind in clock process environment address random; do
  ends_with 1 "a graph that depends on: $kind" look_at "$kind"
  says "kernel restless: expected that emulsion_kernel() makes the same graph each time"
  says "from line 3 on:"
  says "  y[i0: 8] = x[i0] * "
  check "$kind: leaves nothing" [ -z "$(ls -A "$work/restless" 2>/dev/null)" ]
done
ends_with 0 "a graph that depends on a seed" look_at seeded
check "its kernel" [ -s "$work/restless/restless.a" ]
ends_with 1 "a graph function that fails" look_at nothing
says 'expected something to look at, got "nothing"'
ends_with 0 "--check_reproducible" generate "$work/twice" --check_reproducible
check "the kernel that was checked" cmp "$work/a/tiny.a" "$work/twice/tiny.a"
ends_with 0 "--graph" generate "$work/graph" --graph="$work/graph.txt"
check "the graph's text" grep -q "^input x: f32\[B, 20\]" "$work/graph.txt"
check "no kernel beside it" [ ! -e "$work/graph" ]
ends_with 1 "a graph that cannot be written" generate "$work/graph" --graph="$work/no/graph.txt"
says "--graph: expected a file that can be written"

# Texts instead of a kernel.
ends_with 0 "--dump" generate "$work/dump" --dump="$work/dump.txt"
for step in graph fuse_epilogues derive_schedule make_nest; do
  check "the dump after $step" grep -qx -- "--- after $step" "$work/dump.txt"
done
check "the dump names its target" grep -q "^=== for x86-64-linux-.*avx2" "$work/dump.txt"
check "no kernel beside the dump" [ ! -e "$work/dump" ]
ends_with 1 "a dump that cannot be written" generate "$work/dump" --dump="$work/no/dump.txt"
says "--dump: expected a file that can be written"
ends_with 0 "the dump of a schedule of its own" generate "$work/dump" --dump="$work/dump.txt" --schedule="$schedule"
check "the schedule in it" grep -qx -- "--- after schedule" "$work/dump.txt"
ends_with 0 "--code" generate "$work/code" --code --target=x86-64-linux
found=$(cd "$work/code" && printf '%s\n' * | LC_ALL=C sort | tr '\n' ' ')
check "the code: $found" [ "$found" = "tiny.1.s tiny.1.stmt.txt tiny.s tiny.stmt.txt " ]
check "the statement" grep -q "tiny_emulsion_body_0" "$work/code/tiny.stmt.txt"
check "the assembly" grep -q "^tiny_emulsion_body_0:" "$work/code/tiny.s"
check "of each target" grep -q "^tiny_emulsion_body_1:" "$work/code/tiny.1.s"
ends_with 0 "the code again" generate "$work/code_again" --code --target=x86-64-linux
check "the same code" diff -r "$work/code" "$work/code_again"

# A checked kernel has the words of its checks in it: of those that nothing proves, and this one has such.
words="stage y, axis 0 of y: expected an index from 0 to less than"
check "checked = True: checks" grep -qF "$words" "$fused_rows_checked"
ends_with 1 "no checks in a kernel that has not asked for them" grep -cF "$words" "$fused_rows"

# A schedule that it wrote is one that it reads, and gives the same kernel.
ends_with 0 "its own schedule" generate "$work/again" --schedule="$work/a/tiny.schedule.txt"
check "the kernel of the printed schedule" cmp "$work/a/tiny.a" "$work/again/tiny.a"

# One schedule gives one kernel, as text and as JSON.
ends_with 0 "a schedule" generate "$work/text" --schedule="$schedule"
ends_with 0 "a schedule of JSON" generate "$work/json" --schedule="$schedule_json"
for file in tiny.a tiny.schedule.txt; do
  check "$file of the schedule as JSON" cmp "$work/text/$file" "$work/json/$file"
done

# As a generator leaves them that is killed between two files: no program is made of two kernels.
mkdir "$work/torn" && cp "$work/a/"* "$work/torn" && cp "$work/text/tiny_kernel.h" "$work/torn"
ends_with 0 "the headers of one kernel" c++ -x c++ -std=c++17 -M -MG "$work/a/tiny_kernel.h"
ends_with 1 "the headers of two kernels" c++ -x c++ -std=c++17 -M -MG "$work/torn/tiny_kernel.h"
says "tiny_kernel.h and tiny.h are of different kernels: generate them again"
ends_with 1 "a typed header in C++14" c++ -x c++ -std=c++14 -M -MG "$work/a/tiny_kernel.h"
says "tiny_kernel.h needs C++17 or later"
ends_with 1 "a header of the library in C++14" c++ -x c++ -std=c++14 -M -MG "$types"
says "Emulsion needs C++17 or later"

sed 's/"i1"/"i7"/' "$schedule_json" >"$work/bad_schedule.json"
refuses "JSON that names an axis that is not there" "bad_schedule.json: /directives/0: y.split(i7" \
  --schedule="$work/bad_schedule.json"
cp "$schedule_json" "$work/json_schedule.txt"
refuses "JSON whose name does not say so" "line 1, column 1: expected 'emulsion schedule 1'" \
  --schedule="$work/json_schedule.txt"
sed 's/split(i1,/split(i7,/' "$schedule" >"$work/bad_schedule.txt"
refuses "a schedule that names an axis that is not there" "i7" --schedule="$work/bad_schedule.txt"
says "i1" # a legal axis
refuses "a schedule that is not there" "no_such_file" --schedule="$work/no_such_file"
refuses "an unknown feature" "avx3" --target=x86-64-linux-avx3
refuses "the host" "explicit" --target=host

# What must be fused: it is, is not there, is kept apart, or nothing says what is fused.
ends_with 0 "what must be fused is" generate "$work/fused" --fail_on_unfused=matmul+bias+relu --fail_on_unfused=matmul+bias
check "the kernel of what must be fused" cmp "$work/a/tiny.a" "$work/fused/tiny.a"
refuses "what must be fused is not there" "fail_on_unfused: expected matmul+tanh in the graph, got none" \
  --fail_on_unfused=matmul+bias --fail_on_unfused=matmul+tanh
refuses "what must be fused is nothing" "got gemm+relu; legal: as in matmul+bias+relu" --fail_on_unfused=gemm+relu
refuses "what must be fused is the empty text" "error: --fail_on_unfused: expected a value behind =, got nothing" \
  --fail_on_unfused=
export EMULSION_FUSION='{"targets": {"x86-64-v3": {"patterns": ["elementwise chain"]}}}'
refuses "what must be fused is kept apart" "fail_on_unfused: expected matmul+bias+relu at y to be one group" \
  --fail_on_unfused=matmul+bias+relu
says "got mm apart from it: expected a pattern that the config enables, got contraction epilogue"
unset EMULSION_FUSION
refuses "what must be fused, without fusion" "fail_on_unfused: expected a kernel that is fused" \
  --fail_on_unfused=matmul+bias --no-fuse
refuses "what must be fused, with a schedule" "fail_on_unfused: expected a derived schedule" \
  --fail_on_unfused=matmul+bias --schedule="$schedule"
refuses "a target twice" "twice" --target=x86-64-v3
refuses "a name of the C library" "C library" --name=expf
refuses "a name that is no identifier" "kernel 'a-b'" --name=a-b
refuses "an unknown option" "--fast" --fast

head -c 150 "$bias" >"$work/truncated.npy"
refuses "a truncated file" "truncated.npy" --data=tests/bazel/tiny_bias.npy="$work/truncated.npy"
ends_with 1 "no data" "$generator" --name=tiny --target=x86-64-v3 --out="$work/no_data"
says "tiny_bias.npy"

refuses "data without a name" '--data: expected NAME=FILE, got "=' --data="=$bias"

# Kernels are compiled in a process of their own: without one there is none.
echo 'extern "C" int fork() { return -1; }' | c++ -x c++ -shared -fPIC -o "$work/no_fork.so" -
no_fork() { LD_PRELOAD=$work/no_fork.so "$@"; }
ends_with 1 "without a process of its own" no_fork generate "$work/no_fork"
says "compiling tiny: expected a process of its own"

: >"$work/file"
ends_with 1 "a directory that cannot be made" generate "$work/file/below"
says "output directory $work/file/below"
ends_with 1 "a directory that cannot be written" generate /proc/emulsion
says "/proc/emulsion"

# A disk that gets full, early or late, is an error, and leaves nothing.
mkdir "$work/disk"
cat >"$work/on_a_disk.sh" <<'EOF'
mount -t tmpfs -o "size=$1" none "$2" || exit 9
out=$2/out
shift 2
"$@" && exit
[ -z "$(ls -A "$out")" ] || exit 8
exit 1
EOF
on_a_disk() {
  unshare -rm sh "$work/on_a_disk.sh" "$1" "$work/disk" "$generator" --name=tiny --target=x86-64-v3 --out="$work/disk/out" \
    --data=tests/bazel/tiny_bias.npy="$bias"
}
if unshare -rm sh "$work/on_a_disk.sh" 4k "$work/disk" true 2>/dev/null; then
  for size in 4k 16k 32k; do
    ends_with 1 "a disk of $size" on_a_disk "$size"
    says "bytes to be written, got: No space left on device"
  done
  ends_with 0 "a disk that is large enough" on_a_disk 4m
else
  skip "a disk that is full" "this user may not mount one (unshare -rm)"
fi

# What may be read and not written: an error, and what was there stays.
cat >"$work/on_a_read_only_disk.sh" <<'EOF'
mount -t tmpfs none "$1" || exit 9
out=$1/out
shift
"$@" --out="$out" || exit 8
sum() { (cd "$out" && ls -A && cat ./*) | sha256sum; }
before=$(sum)
mount -o remount,ro "${out%/out}" || exit 9
"$@" --out="$out" --no-fuse
code=$?
[ "$before" = "$(sum)" ] || exit 7
exit "$code"
EOF
on_a_read_only_disk() {
  unshare -rm sh "$work/on_a_read_only_disk.sh" "$work/disk" "$generator" --name=tiny --target=x86-64-v3 \
    --data=tests/bazel/tiny_bias.npy="$bias"
}
if unshare -rm sh "$work/on_a_disk.sh" 4k "$work/disk" true 2>/dev/null; then
  ends_with 1 "a disk that is read-only" on_a_read_only_disk
  says "expected one that can be written, got: Read-only file system"
else
  skip "a disk that is read-only" "this user may not mount one (unshare -rm)"
fi

ends_with 0 "--version" "$generator" --version
check "the version is that of dsl/version.h" grep -qx "Emulsion $(sed -n 's/^#define EMULSION_VERSION "\(.*\)"/\1/p' "$version")" "$said"
ends_with 0 "--help" "$generator" --help
says "--target=x86-64-v4"
