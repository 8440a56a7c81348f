# Test cases of a shell suite: counted, reported and held against the suite's floor, as floor_main does for
# GoogleTest. The script of an emulsion_sh_test begins with
#
#   . bazel/testing/cases.sh
#
# and each of these is one case:
#
#   check WHAT COMMAND...           COMMAND ends with 0
#   ends_with CODE WHAT COMMAND...  COMMAND ends with CODE; what it prints is in $said
#   says WORDS...                   what the last ends_with printed has each of WORDS: a case for each
#   skip WHAT REASON                not executed, so it does not count
#
# A case that fails is printed and the script goes on, so that one run shows all that fails. When the script
# ends, in whatever way, the report is written where Bazel wants it, and fewer executed cases than
# EMULSION_TEST_FLOOR are a failure.

set -u
suite=$(basename "$0" .sh)
said=${TEST_TMPDIR:?}/said
results=$(mktemp "$TEST_TMPDIR/results.XXXXXX") || exit 1 # a line for each case: its outcome and its name
: >"$said"

record() {
  printf '%s %s\n' "$1" "$(printf '%s' "$2" | tr '\n\t' '  ')" >>"$results"
}

fail_case() {
  printf 'FAILED: %s\n' "$1"
  record failed "$1"
}

check() {
  local what=$1
  shift
  if "$@"; then record passed "$what"; else fail_case "$what"; fi
}

ends_with() {
  local code=$1 what=$2 found
  shift 2
  "$@" >"$said" 2>&1
  found=$?
  if [ "$found" = "$code" ]; then
    record passed "$what"
  else
    sed 's/^/  /' "$said"
    fail_case "$what: expected exit code $code, got $found"
  fi
}

says() {
  local words
  for words in "$@"; do
    if grep -qF -- "$words" "$said"; then
      record passed "says: $words"
    else
      sed 's/^/  /' "$said"
      fail_case "does not say: $words"
    fi
  done
}

skip() {
  printf 'skipped: %s: %s\n' "$1" "${2:?skip: a reason is missing}"
  record skipped "$1: $2"
}

number_of() {
  grep -c "^$1 " "$results"
}

# As GoogleTest writes it; names hold nothing that is no text.
report() {
  printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite name="%s">\n' "$suite"
  LC_ALL=C tr -cd '\n -~' <"$results" |
    sed -e 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g' \
      -e "s|^\([a-z]*\) \(.*\)|\1<testcase classname=\"$suite\" name=\"\2\" status=\"run\" result=\"completed\">|" \
      -e 's|$|</testcase>|' \
      -e 's|^failed\(.*\)</testcase>|\1<failure message="see the log"/></testcase>|' \
      -e 's|^skipped\(.*\)result="completed">|\1result="skipped"><skipped message="see the name"/>|' \
      -e 's|^passed||'
  printf '</testsuite>\n</testsuites>\n'
}

finish() {
  local status=$? executed
  [ "$status" = 0 ] || fail_case "the script goes on to its end (it ended with $status)"
  executed=$(($(number_of passed) + $(number_of failed)))
  case ${EMULSION_TEST_FLOOR:-} in
    '' | *[!0-9]*)
      fail_case "EMULSION_TEST_FLOOR: expected a number of test cases, got '${EMULSION_TEST_FLOOR:-}'"
      ;;
    *)
      [ "$executed" -ge "$EMULSION_TEST_FLOOR" ] ||
        fail_case "executed $executed test cases, the floor is $EMULSION_TEST_FLOOR"
      ;;
  esac
  [ -z "${XML_OUTPUT_FILE:-}" ] || report >"$XML_OUTPUT_FILE"
  printf '%s passed, %s failed, %s skipped\n' "$(number_of passed)" "$(number_of failed)" "$(number_of skipped)"
  exit $(($(number_of failed) > 0)) # a bare exit in a trap has the status of before
}
trap finish EXIT

# A suite with needs_host runs kernels for Target::host(): skipped where that is a target which this machine is not.
if [ -n "${EMULSION_TEST_WHY_NOT_HOST:-}" ]; then
  why=$("$EMULSION_TEST_WHY_NOT_HOST") || exit 1
  if [ -n "$why" ]; then
    skip "all" "$why"
    EMULSION_TEST_FLOOR=0
    exit 0
  fi
fi
