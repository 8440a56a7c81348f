#!/bin/bash
# The training program: what it learns in a few epochs, what it prints, Ctrl-C, and what it refuses.
. bazel/testing/cases.sh

program=$PWD/$1
why_not_jax=$(cat "$2")

learned() {
  python3 - "$@" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
assert result["percent"] >= float(sys.argv[2]), result
assert result["epoch_seconds"] > 0, result
PYTHON
}

ends_with 0 "twelve epochs" "$program" --epochs=12 --no-jax --json="$TEST_TMPDIR/train.json"
says "epoch       12 of 12: loss" "held-out images" "the median of 12"
check "97 % of the held-out images after twelve epochs" learned "$TEST_TMPDIR/train.json" 97
ends_with 0 "another seed, batch and number of threads" \
  "$program" --epochs=12 --batch=50 --rate=0.3 --seed=5 --threads=1 --no-jax --json="$TEST_TMPDIR/other.json"
check "they learn, too" learned "$TEST_TMPDIR/other.json" 95

first_losses() { "$program" --epochs=2 --no-jax | grep ': loss'; }
check "the same seed gives the same losses" test "$(first_losses)" = "$(first_losses)"

# A few tenths of a second after its first line, in the middle of very many epochs.
interrupted() {
  "$program" --epochs=10000 --threads=1 --no-jax >"$TEST_TMPDIR/interrupted" 2>&1 &
  local child=$!
  while ! grep -q '^training' "$TEST_TMPDIR/interrupted"; do sleep 0.1; done
  kill -INT "$child"
  wait "$child"
  local code=$?
  cat "$TEST_TMPDIR/interrupted"
  return "$code"
}
set -m # else what runs behind a shell ignores SIGINT
ends_with 130 "Ctrl-C" interrupted
says "stopped   in epoch" "held out"

ends_with 0 "--help" "$program" --help
says "bazelw run //examples/train_digits -- --epochs=100"
ends_with 1 "data that is not there" "$program" --no-jax --data=/no/such/file
says "/no/such/file"
ends_with 105 "no epochs" "$program" --epochs=0
ends_with 105 "a rate that goes backwards" "$program" --rate=-1
ends_with 1 "JSON to nowhere" "$program" --no-jax --epochs=1 --json=/no/such/folder/x.json
says "/no/such/folder/x.json"

if [ -n "$why_not_jax" ]; then
  skip "JAX beside it" "$why_not_jax"
else
  ends_with 0 "JAX beside it" "$program" --epochs=12
  says "JAX " "jitted, held out 9"
fi
