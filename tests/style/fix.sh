#!/bin/sh
# Formats what tests/style checks: C++ with clang-format, Bazel files with buildifier when npm can bring it.
#   tests/style/fix.sh [FILE...]       all files without arguments
set -eu
cd "$(dirname "$0")/../.."
if [ $# = 0 ]; then
  # shellcheck disable=SC2046
  set -- $(python3 -B -c '
import sys
sys.path.insert(0, "tests/style")
import source_tree
print(" ".join(source_tree.files(".h", ".cc", ".bzl", "BUILD", "WORKSPACE") + ["BUILD", "WORKSPACE"]))')
fi
cpp=
starlark=
for file in "$@"; do
  case "$file" in
    *.h | *.cc) cpp="$cpp $file" ;;
    *BUILD | *WORKSPACE | *.bzl) starlark="$starlark $file" ;;
  esac
done
# shellcheck disable=SC2086
[ -z "$cpp" ] || clang-format -i $cpp
[ -n "$starlark" ] || exit 0
./bazelw ${EMULSION_OUTPUT_BASE:+--output_base="$EMULSION_OUTPUT_BASE"} build --ui_event_filters=-info \
  --noshow_progress @buildifier//:status
tool=$(./bazelw ${EMULSION_OUTPUT_BASE:+--output_base="$EMULSION_OUTPUT_BASE"} info output_base \
  2>/dev/null)/external/buildifier/tool
if [ -x "$tool" ]; then
  # shellcheck disable=SC2086
  "$tool" -lint=off -mode=fix $starlark
else
  cat "$(dirname "$tool")/status" >&2
fi
