#!/bin/bash
# The photo lesson: what it says, the picture that it makes, pixel by pixel against NumPy, and what it refuses.
#   photo_test.sh PROGRAM PHOTO.jpg UNSHARP_NUMPY.py
. bazel/testing/cases.sh

program=$PWD/$1
photo=$PWD/$2
numpy=$PWD/$3
cd "$TEST_TMPDIR" || exit 1

ends_with 0 "the lesson" "$program" --photo="$photo" --save-photo=photo.png --out=sharper.png --amount=1.25
says "1. By hand, in tiles." "2. As derived." "alloc blur_y" "store sharper" \
  "the same numbers interpreted and compiled" \
  "the whole picture: the same bytes by hand and derived"
ends_with 0 "NumPy's pixels" /usr/bin/python3 -I "$numpy" photo.png sharper.png 1.25
ends_with 1 "NumPy notices another amount" /usr/bin/python3 -I "$numpy" photo.png sharper.png 1.3
ends_with 1 "NumPy notices the photograph itself" /usr/bin/python3 -I "$numpy" photo.png photo.png 1.25

ends_with 0 "--help" "$program" --help
says "bazelw run //examples/lesson_08_photo"
ends_with 1 "a photograph that is not there" "$program" --photo=/no/such.jpg
says "/no/such.jpg"
ends_with 1 "a photograph that is none" "$program" --photo="$numpy"
ends_with 1 "a folder for a photograph" "$program" --photo="$TEST_TMPDIR"
says "cannot read JPEG $TEST_TMPDIR: Is a directory"
ends_with 1 "nowhere to write" "$program" --photo="$photo" --out=/no/such/folder/x.png
check "nowhere to write: that alone, before the work" \
  [ "$(cat "$said")" = "error: cannot write PNG /no/such/folder/x.png: No such file or directory" ]
ends_with 104 "an amount that is no number" "$program" --photo="$photo" --amount=lots
