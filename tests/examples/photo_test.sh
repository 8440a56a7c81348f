#!/bin/bash
# The photo lesson: what it says, the picture that it makes, pixel by pixel against NumPy, and what it refuses.
#   photo_test.sh PROGRAM PHOTO.jpg UNSHARP_NUMPY.py
set -u

program=$PWD/$1
photo=$PWD/$2
numpy=$PWD/$3
said=${TEST_TMPDIR:?}/said
cd "$TEST_TMPDIR" || exit 1

fail() {
  printf 'FAILED: %s\n' "$*"
  cat "$said"
  exit 1
}

"$program" --photo="$photo" --save-photo=photo.png --out=sharper.png --amount=1.25 >"$said" 2>&1 ||
  fail "ended with an error"
for words in "1. By hand, in tiles." "2. As derived." "alloc blur_y" "store sharper" \
  "the same numbers interpreted and compiled" \
  "the whole picture: the same bytes by hand and derived"; do
  grep -qF "$words" "$said" || fail "does not say: $words"
done
/usr/bin/python3 -I "$numpy" photo.png sharper.png 1.25 >"$said" 2>&1 || fail "NumPy has other pixels"
/usr/bin/python3 -I "$numpy" photo.png sharper.png 1.3 >"$said" 2>&1 && fail "NumPy does not notice another amount"
/usr/bin/python3 -I "$numpy" photo.png photo.png 1.25 >"$said" 2>&1 && fail "NumPy does not notice the photograph itself"

"$program" --help >"$said" 2>&1 || fail "--help"
grep -qF "bazelw run //examples/lesson_08_photo" "$said" || fail "--help has no example"
"$program" --photo=/no/such.jpg >"$said" 2>&1 && fail "a photograph that is not there: expected an error"
grep -qF "/no/such.jpg" "$said" || fail "a photograph that is not there: not named"
"$program" --photo="$numpy" >"$said" 2>&1 && fail "a photograph that is none: expected an error"
"$program" --photo="$TEST_TMPDIR" >"$said" 2>&1 && fail "a folder for a photograph: expected an error"
grep -qF "cannot read JPEG $TEST_TMPDIR: Is a directory" "$said" || fail "a folder for a photograph: not named"
"$program" --photo="$photo" --out=/no/such/folder/x.png >"$said" 2>&1 && fail "nowhere to write: expected an error"
[ "$(cat "$said")" = "error: cannot write PNG /no/such/folder/x.png: No such file or directory" ] ||
  fail "nowhere to write: expected that alone, before the work"
"$program" --photo="$photo" --amount=lots >"$said" 2>&1 && fail "no number: expected an error"
exit 0
