#!/bin/bash
# Kernels on LLVM's OpenMP, in front of GCC's: all that linked_kernels_test looks at holds there too, also in the
# child of a process with a team. Debian has it as libomp5-14; another one is tried with
# --test_env=EMULSION_LLVM_OPENMP=/path/to/libomp.so.
. bazel/testing/cases.sh

program=$PWD/$1

# with LIBRARY [ARGUMENT...]: the suite, with no floor of its own.
with() {
  local library=$1
  shift
  env -i PATH="$PATH" TEST_TMPDIR="$TEST_TMPDIR" OMP_WAIT_POLICY=passive KMP_VERSION=1 \
    ${library:+LD_PRELOAD="$library"} "$program" "$@"
}

says_llvm() { grep -q "LLVM OMP version" "$said"; }

ends_with 0 "on GCC's OpenMP" with "" --gtest_filter=LinkedKernels.RunInAChild*
check "which is not LLVM's" eval '! says_llvm'

llvm=${EMULSION_LLVM_OPENMP:-$(find /usr/lib/llvm-*/lib /usr/lib/x86_64-linux-gnu -name "libomp.so*" 2>/dev/null | head -1)}
if [ -n "$llvm" ]; then
  ends_with 0 "on LLVM's OpenMP, $llvm" with "$llvm"
  check "which is LLVM's" says_llvm
else
  skip "on LLVM's OpenMP" "no libomp.so is installed (Debian: libomp5-14)"
fi
