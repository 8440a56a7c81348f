#!/bin/sh
# Runs a check of this folder over the source tree that the runfiles point to, not over a list of copies: a file that
# no BUILD file knows is one of the things to be found.
root=$(dirname "$(readlink -f WORKSPACE)")
if [ ! -f "$root/tests/style/$1" ]; then
  echo "cannot find the source tree: WORKSPACE leads to $root" >&2
  exit 1
fi
check=$root/tests/style/$1
shift
exec python3 -B "$check" "$@"
