#!/bin/bash
# What is downloaded is what is pinned: a file with one byte changed is refused. The downloads are small ones that
# are made here: no network is used.
. bazel/testing/cases.sh

source=$(dirname "$(readlink -f WORKSPACE)")
work=$TEST_TMPDIR/workspace
home=$TEST_TMPDIR/home
tools=$TEST_TMPDIR/tools
links= # the folder that pip looks into, and nowhere else, and so does our npm
mkdir "$work" "$home" "$tools"

nested() {
  (cd "$work" && env -i PIP_NO_INDEX=1 PIP_FIND_LINKS="$links" NPM_ARCHIVES="$links" HOME="$home" USER="$(id -un)" \
    PATH="$tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    "$source/bazelw" --nohome_rc --output_user_root="$home/root" --output_base="$home/base" --max_idle_secs=10 "$@")
}
trap 'status=$?; nested shutdown >/dev/null 2>&1; (exit "$status"); finish' EXIT

# Folders of downloads: as they are pinned, with one byte changed, and none.
mkdir "$TEST_TMPDIR/whole" "$TEST_TMPDIR/tampered" "$TEST_TMPDIR/none"
wheel=emulsion_tiny_wheel-1.0-py3-none-any.whl
python3 - "$TEST_TMPDIR/whole/$wheel" <<'EOF'
import sys, zipfile
about = "emulsion_tiny_wheel-1.0.dist-info/"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("tiny/data.txt", "whole\n")
    wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: emulsion-tiny-wheel\nVersion: 1.0\n")
    wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(about + "RECORD", "")
EOF
mkdir "$TEST_TMPDIR/package" && echo whole >"$TEST_TMPDIR/package/tool"
tar -C "$TEST_TMPDIR" -czf "$TEST_TMPDIR/whole/tiny-1.0.tgz" package
for file in "$wheel" tiny-1.0.tgz; do
  python3 -c 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 1
open(sys.argv[2], "wb").write(data)' "$TEST_TMPDIR/whole/$file" "$TEST_TMPDIR/tampered/$file"
  check "one byte of $file differs" [ "$(cmp -l "$TEST_TMPDIR/whole/$file" "$TEST_TMPDIR/tampered/$file" | wc -l)" = 1 ]
done

# `npm pack --silent tiny@1.0` as npm does it.
cat >"$tools/npm" <<'EOF'
#!/bin/sh
cp "$NPM_ARCHIVES/tiny-1.0.tgz" . && echo tiny-1.0.tgz
EOF
chmod +x "$tools/npm"

hash() { # sha256 hex or sha512 base64 FILE
  python3 -c 'import base64, hashlib, sys
digest = hashlib.new(sys.argv[1], open(sys.argv[3], "rb").read()).digest()
print(digest.hex() if sys.argv[2] == "hex" else base64.b64encode(digest).decode())' "$@"
}
sha256=$(hash sha256 hex "$TEST_TMPDIR/whole/$wheel")
integrity=sha512-$(hash sha512 base64 "$TEST_TMPDIR/whole/tiny-1.0.tgz")
python_version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
echo 'exports_files(["data.txt"])' >"$work/tiny.BUILD"
touch "$work/BUILD"
cat >"$work/WORKSPACE" <<EOF
local_repository(name = "emulsion", path = "$source")
load("@emulsion//bazel:npm.bzl", "npm_tool")
load("@emulsion//bazel:python_packages.bzl", "python_packages")
load("@emulsion//bazel:repositories.bzl", "emulsion_repositories")
load("@emulsion//bazel:wheel.bzl", "pinned_wheel")
emulsion_repositories()
[pinned_wheel(
    name = name + "_wheel",
    build_file = "//:tiny.BUILD",
    files = ["tiny/data.txt=./"],
    package = "emulsion-tiny-wheel",
    sha256 = "$sha256",
    version = "1.0",
) for name in ["whole", "tampered", "absent"]]
[python_packages(
    name = name + "_packages",
    hashes = {"emulsion-tiny-wheel==1.0": "$sha256"},
    python_version = "$python_version",
) for name in ["whole", "tampered", "absent"]]
[npm_tool(
    name = name + "_tool",
    file = "package/tool",
    integrity = "$integrity",
    package = "tiny",
    version = "1.0",
) for name in ["whole", "tampered", "absent"]]
EOF
fetched() { cat "$home/base/external/$1"; }

links=$TEST_TMPDIR/whole
ends_with 0 "a wheel as it is pinned" nested build @whole_wheel//:data.txt
check "its data" [ "$(fetched whole_wheel/data.txt)" = whole ]
ends_with 0 "packages as they are pinned" nested build @whole_packages//:packages
check "no reason why they are not there" [ -z "$(fetched whole_packages/why_not.txt)" ]
check "their data" [ "$(fetched whole_packages/site/tiny/data.txt)" = whole ]
ends_with 0 "a tool as it is pinned" nested build @whole_tool//:status
check "it is ready" [ "$(fetched whole_tool/status)" = ready ]
check "its bytes" [ "$(fetched whole_tool/tool)" = whole ]

links=$TEST_TMPDIR/tampered
ends_with 1 "a wheel that was tampered with" nested build @tampered_wheel//:data.txt
says "is not the pinned one (sha256 $sha256)"
ends_with 1 "packages that were tampered with" nested build @tampered_packages//:packages
says "@tampered_packages: a wheel that pip found is not the pinned one"
ends_with 1 "a tool that was tampered with" nested build @tampered_tool//:status
says "@tampered_tool: npm's archive of tiny@1.0 is not the pinned one: integrity is sha512-" "expected $integrity"

# What is not to be had at all is a failure where something is built of it, and else a reason.
links=$TEST_TMPDIR/none
ends_with 1 "a wheel that is not there" nested build @absent_wheel//:data.txt
says "pip cannot get emulsion-tiny-wheel==1.0"
ends_with 0 "packages that are not there" nested build @absent_packages//:packages
check "why they are not" grep -q "pip cannot get emulsion-tiny-wheel==1.0" \
  "$home/base/external/absent_packages/why_not.txt"
ends_with 0 "a tool that is not there" nested build @absent_tool//:status
check "why it is not" grep -q "npm cannot get tiny@1.0" "$home/base/external/absent_tool/status"
