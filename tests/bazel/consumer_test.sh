#!/bin/bash
# examples/consumer as somebody else's workspace: copied away, its path to Emulsion made absolute, built by a
# Bazel of its own and run. Halide comes from what this Bazel has fetched already.
. bazel/testing/cases.sh

halide=$(dirname "$(dirname "$(readlink -f "$1")")")
source=$(dirname "$(readlink -f WORKSPACE)")
# .../<output base>/external/halide: the nested Bazel's files have the same lifetime as our Bazel's.
cache=$(dirname "$(dirname "$halide")")/emulsion_consumer_test
work=$TEST_TMPDIR/consumer

check "the source tree is at $source" [ -f "$source/bazelw" ]
cp -rL "$source/examples/consumer" "$work" && mkdir -p "$cache" || exit 1
sed -i "s|path = \"../..\"|path = \"$source\"|" "$work/WORKSPACE"
check "WORKSPACE names ../.." grep -qF "path = \"$source\"" "$work/WORKSPACE"

# Not this test's own environment: a test inside a test would write this test's report.
nested() {
  (cd "$work" && env -i HOME="$cache" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER="$(id -un)" \
    "$source/bazelw" --nohome_rc --output_user_root="$cache/root" --output_base="$cache/base" \
    --max_idle_secs=10 "$@")
}
trap 'status=$?; nested shutdown >/dev/null 2>&1; (exit "$status"); finish' EXIT

# Where whoever runs this has told Bazel to keep what it compiles, the nested one finds what an earlier run of this
# test has compiled, in whatever output base.
home=$(getent passwd "$(id -u)" | cut -d: -f6)
disk_cache=$(sed -n 's/^ *\(build\|common\|test\).* --disk_cache=\([^ ]*\).*/\2/p' \
  /etc/bazel.bazelrc "$home/.bazelrc" "$source/user.bazelrc" 2>/dev/null | tail -1)

settings=(
  --override_repository=halide="$halide"
  ${disk_cache:+--disk_cache="$disk_cache"}
  --symlink_prefix=/
  # Quicker to build; the kernel does not depend on it. Tools are in the mode `opt` by default, where our own flags
  # would optimise them.
  --@emulsion//bazel:optimized=false --copt=-O0 --host_copt=-O0 --host_compilation_mode=fastbuild
  --@emulsion//bazel:precompile_headers
  --noshow_progress --nosandbox_debug --verbose_failures
)

ends_with 0 "//:app" nested run "${settings[@]}" //:app
says "33 rows: ok" "refused: "
ends_with 0 "//:scores_test" nested test "${settings[@]}" --test_output=errors //:scores_test

# What runs with kernels is optimised in any mode: the last of its flags says so, also behind -O0.
last_optimisation_is() { # -O2 FILE
  awk -v expected="$1" '/^action .Compiling/ { actions++; if (last != "" && last != expected) bad = 1; last = "-O" }
       $1 ~ /^-O[0-9sgz]$/ { last = $1 }
       END { exit bad || last != expected || actions < 10 }' "$2"
}
ends_with 0 "the commands that compile the interpreter and the runtime" nested aquery "${settings[@]}" \
  'mnemonic(CppCompile, filter("//backends/(interpreter|runtime):", deps(//:scores_test)))'
check "the interpreter and the runtime are optimised" last_optimisation_is -O2 "$said"

# So is the generator, as far as it compiles quickly, in the build of somebody who asks for nothing.
generator='mnemonic(CppCompile, filter("^//:scores_g|//(dsl|passes|backends/(entry|halide|codegen))", deps(//:scores_generator)))'
plain=(--override_repository=halide="$halide" --symlink_prefix=/ --noshow_progress)
ends_with 0 "the commands that compile the generator" nested aquery "${plain[@]}" "$generator"
check "the generator is optimised" last_optimisation_is -O1 "$said"
ends_with 0 "the same with --copt=-O0" nested aquery "${plain[@]}" --copt=-O0 --@emulsion//bazel:optimized=false \
  "$generator"
check "the generator is not optimised where the build says so" last_optimisation_is -O0 "$said"

# What an attribute says reaches the generator.
asks_for() { # EDIT OPTION
  cp "$work/BUILD" "$work/BUILD.before"
  sed -i "$1" "$work/BUILD"
  ends_with 0 "the command with $2" nested aquery "${settings[@]}" 'mnemonic(EmulsionKernel, //:scores)'
  says "$2"
  mv "$work/BUILD.before" "$work/BUILD"
}
asks_for 's/src = .*/&\n    fuse = False,/' "--no-fuse"
asks_for 's/src = .*/&\n    check_reproducible = True,/' "--check_reproducible"

# What must be fused and is not there fails the build; so does what cannot be known.
sed -i 's|^    targets = \[|    fail_on_unfused = ["matmul+bias+relu"],\n&|' "$work/BUILD"
ends_with 1 "a kernel that is not fused as it must be" nested build "${settings[@]}" //:app
says "fail_on_unfused: expected matmul+bias+relu in the graph, got none"
sed -i '/fail_on_unfused/s/$/ fuse = False,/' "$work/BUILD"
ends_with 1 "what must be fused, without fusion" nested build "${settings[@]}" //:app
says "fail_on_unfused: expected schedules that are derived and fused, got fuse = False"
sed -i 's/^    fail_on_unfused.*/    fail_on_unfused = ["matmul+bias"],/' "$work/BUILD"
ends_with 0 "a kernel that is fused as it must be" nested build "${settings[@]}" //:app

# Not explicit, so refused before anything is built.
sed -i 's/"x86-64-v3"/"host"/' "$work/BUILD"
ends_with 1 "the target host" nested build "${settings[@]}" //:app
says "expected explicit instruction sets"
sed -i 's/"host"/"tile-machine"/' "$work/BUILD"
ends_with 1 "the target tile-machine" nested build "${settings[@]}" //:app
says 'target "tile-machine": expected instruction sets of a processor'
sed -i '/targets = \[/,/\],/c\    targets = "x86-64-v3",' "$work/BUILD"
ends_with 1 "targets that are a string" nested build "${settings[@]}" //:app
says 'targets: expected a list such as ["x86-64-v3"], got the string "x86-64-v3"'
refuses() { # EDIT WORDS: an attribute of another type, named as the user wrote it
  cp "$work/BUILD" "$work/BUILD.before"
  sed -i "$1" "$work/BUILD"
  ends_with 1 "$2" nested build "${settings[@]}" //:app
  says "emulsion_library $2"
  mv "$work/BUILD.before" "$work/BUILD"
}
refuses 's/targets = .*/targets = [3],/' 'scores: targets: expected strings, such as "x86-64-v3", got the int 3'
sed -i 's/targets = .*/targets = ["x86-64-v3"],/' "$work/BUILD"
refuses 's/name = "scores"/name = 5/' '5: name: expected a string, got the int 5'
refuses 's/src = .*/src = ["scores.cc"],/' 'scores: src: expected one file, such as "mlp.cc", got the list ["scores.cc"]'
refuses 's/src = .*/src = "scores.h",/' 'scores: src: expected a C++ file that is compiled, such as "mlp.cc", got scores.h'
refuses 's/data = .*/data = "weights.npy",/' 'scores: data: expected a list, got the string "weights.npy"'
refuses 's/^    fail_on_unfused.*/    fail_on_unfused = [""],/' 'scores: fail_on_unfused: expected patterns, such as "matmul+bias+relu", got the empty string'
refuses 's/^    fail_on_unfused.*/    fail_on_unfused = [7],/' 'scores: fail_on_unfused: expected patterns, such as "matmul+bias+relu", got the int 7'
refuses 's/src = .*/&\n    checked = "yes",/' 'scores: checked: expected True or False, got the string "yes"'

# A suite that may execute nothing is none.
sed -i '1i load("@emulsion//bazel:testing.bzl", "emulsion_cc_test")' "$work/BUILD"
echo 'emulsion_cc_test(name = "idle_test", srcs = ["app.cc"], floor = 0)' >>"$work/BUILD"
ends_with 1 "a suite without a floor" nested build "${settings[@]}" //:app
says "floor of idle_test: expected at least 1 test case, got 0"
