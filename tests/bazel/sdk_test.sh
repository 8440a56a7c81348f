#!/bin/bash
# The SDK outside of Bazel: unpacked somewhere, its example built by make and by CMake, and run.
. bazel/testing/cases.sh

archive=$PWD/$1
version=$(sed -n 's/^#define EMULSION_VERSION "\(.*\)"/\1/p' "$2")
work=$TEST_TMPDIR/some\ where # a path with a blank
mkdir -p "$TEST_TMPDIR/elsewhere"
sdk=$TEST_TMPDIR/elsewhere/emulsion-sdk

check "unpacks" tar -xzf "$archive" -C "$TEST_TMPDIR/elsewhere"
for file in include/backends/codegen/kernel_context.h include/dsl/emulsion.h include/HalideRuntime.h README.md \
  LICENSE lib/libemulsion_runtime.a lib/libemulsion_generator.a lib/libHalide.so lib/libfmt.so.9 lib/pkgconfig/emulsion.pc \
  lib/cmake/Emulsion/EmulsionConfig.cmake; do
  check "has $file" [ -s "$sdk/$file" ]
done
check "names its version, $version" grep -qF "Emulsion $version" "$sdk/README.md"
check "holds no place-holder" eval '! grep -rq "@VERSION@" "$sdk" --include="*.pc" --include="*.cmake" --include="*.md"'

says_nothing_of_its_maker() {
  tar -tvzf "$archive" --numeric-owner --utc | awk '$2 != "0/0" || $4 != "1970-01-01" { print; found = 1 } END { exit found }'
}
check "no time and no owner is in the archive" says_nothing_of_its_maker

# Nothing of Bazel's or of this test's in the environment.
outside() {
  env -i HOME="$TEST_TMPDIR" PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

expect_scores() {
  says "0 rows: ok" "33 rows: ok" "refused: kernel scores: argument 3 (scores), axis 0"
}

if command -v make >/dev/null && command -v pkg-config >/dev/null; then
  ends_with 0 "pkg-config" outside env PKG_CONFIG_PATH="$sdk/lib/pkgconfig" pkg-config --modversion emulsion
  says "$version"
  ends_with 0 "make" outside make -C "$sdk/example" run
  expect_scores
  ends_with 0 "the generator" outside "$sdk/example/scores_generator" --version
  says "Emulsion $version"
  check "what make built is all that its archives need" eval '! ldd "$sdk/example/app" | grep -qE "Halide|fmt"'
  # The runtime's own functions, not Halide's weak ones: a kernel that fails neither prints nor ends the process.
  check "our hooks are in the program" eval 'nm "$sdk/example/app" | grep -q " T halide_error$"'
else
  skip "make" "make or pkg-config is not installed"
fi

if command -v cmake >/dev/null; then
  ends_with 0 "cmake" outside cmake -S "$sdk/example" -B "$work/build" -DCMAKE_BUILD_TYPE=Release
  ends_with 0 "cmake --build" outside cmake --build "$work/build"
  ends_with 0 "the program that CMake built" outside "$work/build/app"
  expect_scores
else
  skip "cmake" "cmake is not installed"
fi
