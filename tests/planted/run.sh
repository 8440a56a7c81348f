#!/bin/sh
# Runs a program of this folder in the source tree: beside a test the runfiles point to it, `bazel run` names it.
root=${BUILD_WORKSPACE_DIRECTORY:-$(dirname "$(readlink -f WORKSPACE)")}
program=$root/tests/planted/$1
if [ ! -f "$program" ]; then
  echo "cannot find the source tree: no $program" >&2
  exit 1
fi
shift
exec python3 -B "$program" "$@"
