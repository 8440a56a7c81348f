"""Compiler and linker flags, in one place.

Warnings become errors through .bazelrc, in this repository's own files only: somebody who builds
Emulsion from outside with another compiler is not stopped by a new warning.
"""

# A plain build is optimised as far as that compiles quickly: whoever builds from outside asks for nothing, and waits
# for the generator at each change of a graph. A rule's own flags stand behind --copt and the mode's, so this would
# also take the place of a --copt=-O0: --//bazel:optimized=false leaves a plain build to --copt. .bazelrc does so.
EMULSION_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
] + select({
    str(Label("//bazel:opt_mode")): ["-O2"],
    str(Label("//bazel:dbg_mode")): ["-O0"],
    str(Label("//bazel:optimized_mode")): ["-O1"],
    "//conditions:default": [],
})

# For what runs with kernels, not only where they are made: its runtime, and the interpreter behind its generated
# test. Whoever builds without `-c opt` would wait ten times as long. (--per_file_copt stands behind it.)
EMULSION_FAST_COPTS = EMULSION_COPTS + ["-O2"]

# For the programs of examples/ and benchmarks/, which spend their time in the libraries and in kernels. Where
# .bazelrc leaves a plain build to --copt, their own sources are not optimised: the tests' run compiles all of them.
EMULSION_PROGRAM_COPTS = EMULSION_COPTS + select({
    str(Label("//bazel:opt_mode")): [],
    str(Label("//bazel:optimized_mode")): [],
    "//conditions:default": ["-O0"],
})

# Only for targets that contain OpenMP directives or call omp_* functions.
EMULSION_OPENMP_COPTS = EMULSION_COPTS + ["-fopenmp"]
EMULSION_FAST_OPENMP_COPTS = EMULSION_FAST_COPTS + ["-fopenmp"]

EMULSION_OPENMP_LINKOPTS = ["-fopenmp"]
