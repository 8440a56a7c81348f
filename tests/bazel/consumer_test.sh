#!/bin/bash
# examples/consumer as somebody else's workspace: copied away, its path to Emulsion made absolute, built by a
# Bazel of its own and run. Halide comes from what this Bazel has fetched already.
set -u -o pipefail

halide=$(dirname "$(dirname "$(readlink -f "$1")")")
source=$(dirname "$(readlink -f WORKSPACE)")
# .../<output base>/external/halide: the nested Bazel's files have the same lifetime as our Bazel's.
cache=$(dirname "$(dirname "$halide")")/emulsion_consumer_test
work=${TEST_TMPDIR:?}/consumer

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

[ -f "$source/bazelw" ] || fail "the source tree is not at $source"
cp -rL "$source/examples/consumer" "$work" || fail "cannot copy the consumer"
sed -i "s|path = \"../..\"|path = \"$source\"|" "$work/WORKSPACE"
grep -qF "path = \"$source\"" "$work/WORKSPACE" || fail "WORKSPACE does not name ../.. any more"
mkdir -p "$cache" || fail "cannot make $cache"

# Not this test's own environment: a test inside a test would write this test's report.
nested() {
  (cd "$work" && env -i HOME="$cache" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER="$(id -un)" \
    "$source/bazelw" --nohome_rc --output_user_root="$cache/root" --output_base="$cache/base" \
    --max_idle_secs=10 "$@")
}
trap 'nested shutdown >/dev/null 2>&1' EXIT

settings=(
  --override_repository=halide="$halide"
  --symlink_prefix=/
  --copt=-O0 --host_copt=-O0 # quicker to build; the kernel does not depend on it
  --noshow_progress --nosandbox_debug --verbose_failures
)

nested run "${settings[@]}" //:app 2>"$TEST_TMPDIR/app.log" | tee "$TEST_TMPDIR/app.out"
[ "${PIPESTATUS[0]}" = 0 ] || fail "//:app: $(cat "$TEST_TMPDIR/app.log")"
grep -qF "33 rows: ok" "$TEST_TMPDIR/app.out" || fail "//:app does not say that 33 rows are ok"
grep -qF "refused: " "$TEST_TMPDIR/app.out" || fail "//:app does not say what was refused"

nested test "${settings[@]}" --test_output=errors //:scores_test >"$TEST_TMPDIR/test.log" 2>&1 ||
  fail "//:scores_test: $(cat "$TEST_TMPDIR/test.log")"

# Not explicit, so refused before anything is built.
sed -i 's/"x86-64-v3"/"host"/' "$work/BUILD"
nested build "${settings[@]}" //:app >"$TEST_TMPDIR/host.log" 2>&1 && fail "the target host was accepted"
grep -qF "expected explicit instruction sets" "$TEST_TMPDIR/host.log" || fail "$(cat "$TEST_TMPDIR/host.log")"
