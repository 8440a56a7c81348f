#!/bin/sh
# Formats what tests/style checks: C++ with clang-format, Bazel files with buildifier when npm can bring it.
#   tests/style/fix.sh [FILE...]       all files without arguments
#   tests/style/fix.sh --tidy          first what clang-tidy can mend by itself, in dsl, passes and backends
# EMULSION_OUTPUT_BASE is handed to Bazel as --output_base when it is set.
set -eu
cd "$(dirname "$0")/../.."
bazel() { ./bazelw ${EMULSION_OUTPUT_BASE:+--output_base="$EMULSION_OUTPUT_BASE"} "$@"; }
fetched() {
  bazel build --ui_event_filters=-info --noshow_progress "$1" >&2
  echo "$(bazel info output_base 2>/dev/null)/external"
}
if [ "${1:-}" = --tidy ]; then
  shift
  halide=$(fetched @halide//:include/Halide.h)
  tidy=$(fetched @clang_tidy//:bin/clang-tidy)
  python3 -B tests/style/clang_tidy.py "$tidy/clang_tidy/bin/clang-tidy" "$halide/halide/include/Halide.h" --fix || true
fi
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
# Twice: a comment that was broken once may be filled once more.
# shellcheck disable=SC2086
[ -z "$cpp" ] || { clang-format -i $cpp && clang-format -i $cpp; }
[ -n "$starlark" ] || exit 0
npm=$(fetched @buildifier//:status)
tool=$npm/buildifier/tool
if [ -x "$tool" ]; then
  # shellcheck disable=SC2086
  "$tool" -lint=off -mode=fix $starlark
else
  cat "$npm/buildifier/status" >&2
fi
