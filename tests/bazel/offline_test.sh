#!/bin/bash
# By hand: Emulsion is built where there is no network.
#
#   ./bazelw test //tests/bazel:offline_test [--test_env=PIP_FIND_LINKS=/folder/with/the/wheels]
#
# It needs what ./bazelw installs, and the wheels that bazel/repositories.bzl pins for a build. Without a folder of
# them it downloads these first, which is all that asks for a network. Then a Bazel with an output base of its own, in
# a namespace without a network (`unshare -rn`), fetches, builds and runs; where there are no such namespaces, all
# proxies refuse. It compiles everything anew, but for what a disk cache has that ~/.bazelrc names.
. bazel/testing/cases.sh

source=$(dirname "$(readlink -f WORKSPACE)")
home=$(getent passwd "$(id -u)" | cut -d: -f6)
wheels=${PIP_FIND_LINKS:-$TEST_TMPDIR/wheels}
disk_cache=$(sed -n 's/^ *\(build\|common\|test\).* --disk_cache=\([^ ]*\).*/\2/p' \
  /etc/bazel.bazelrc "$home/.bazelrc" "$source/user.bazelrc" 2>/dev/null | tail -1)

# "halide==21.0.0 --hash=sha256:...", one a line.
pinned() {
  python3 - "$source/bazel/repositories.bzl" halide scikit-learn <<'EOF'
import re, sys
rules = re.findall(r"pinned_wheel,(.*?)\n    \)", open(sys.argv[1], encoding="utf-8").read(), re.S)
found = [dict(re.findall(r'(package|sha256|version) = "([^"]*)"', rule)) for rule in rules]
for wheel in (wheel for wheel in found if wheel["package"] in sys.argv[2:]):
    print("{package}=={version} --hash=sha256:{sha256}".format(**wheel))
EOF
}
pinned >"$TEST_TMPDIR/requirements.txt"
check "two wheels are needed" [ "$(wc -l <"$TEST_TMPDIR/requirements.txt")" = 2 ]
if [ -z "${PIP_FIND_LINKS:-}" ]; then
  ends_with 0 "the wheels are downloaded" env HOME="$home" python3 -m pip --disable-pip-version-check download --quiet \
    --no-deps --require-hashes --only-binary=:all: --implementation=cp --python-version=3.11 \
    --platform=manylinux_2_28_x86_64 --platform=manylinux_2_27_x86_64 --dest="$wheels" \
    --requirement="$TEST_TMPDIR/requirements.txt"
else
  check "there is a folder $wheels" [ -d "$wheels" ]
fi

# COMMAND...: where nothing outside of this machine answers.
if unshare -rn ip link set lo up 2>/dev/null; then
  echo "in a namespace without a network"
  offline() { unshare -rn sh -c 'ip link set lo up && exec "$@"' sh "$@"; }
else
  echo "with proxies that refuse: there is no unshare -rn"
  offline() { env http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 all_proxy=http://127.0.0.1:9 "$@"; }
fi
ends_with 1 "pip's index does not answer" offline env HOME="$home" PIP_RETRIES=0 PIP_DEFAULT_TIMEOUT=10 python3 -m pip \
  --disable-pip-version-check --no-cache-dir download --no-deps --only-binary=:all: --dest="$TEST_TMPDIR/online" halide

# A server would stay in its namespace, hence --batch.
bazel() { # BASE WHEELS ARGUMENT...
  local base=$TEST_TMPDIR/$1 links=$2
  shift 2
  (cd "$source" && offline env -i HOME="$TEST_TMPDIR" USER="$(id -un)" PIP_NO_INDEX=1 PIP_FIND_LINKS="$links" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ./bazelw --batch --nohome_rc --output_user_root="$TEST_TMPDIR/root" --output_base="$base" "$@" \
    ${disk_cache:+--disk_cache="$disk_cache"} --symlink_prefix=/ --noshow_progress)
}
ends_with 0 "//examples/digits" bazel base "$wheels" run //examples/digits
says "held-out images"
ends_with 0 "a test" bazel base "$wheels" test //tests/bazel:kernel_library_test

mkdir "$TEST_TMPDIR/none"
ends_with 1 "without the wheels" bazel other "$TEST_TMPDIR/none" build @halide//:runtime_headers
says "pip cannot get halide==" "set PIP_FIND_LINKS to it"
chmod -R u+w "$TEST_TMPDIR/base" "$TEST_TMPDIR/other" "$TEST_TMPDIR/root" && rm -rf "$TEST_TMPDIR/base" "$TEST_TMPDIR/other"
