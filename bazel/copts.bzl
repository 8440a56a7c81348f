"""Compiler and linker flags, in one place.

Warnings become errors through .bazelrc, in this repository's own files only: somebody who builds
Emulsion from outside with another compiler is not stopped by a new warning.
"""

# How much is optimised is the mode's affair: .bazelrc says little for a plain build, which its --copt would say of
# the other modes too.
EMULSION_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
] + select({
    str(Label("//bazel:opt_mode")): ["-O2"],
    str(Label("//bazel:dbg_mode")): ["-O0"],
    "//conditions:default": [],
})

# For what runs with kernels, not only where they are made: its runtime, and the interpreter behind its generated
# test. Whoever builds without `-c opt` would wait ten times as long. A rule's own flags stand behind --copt and
# the mode's, --per_file_copt behind them. (The generator is compiled in the mode of the build: by .bazelrc with
# -O1 here, unoptimised where another workspace asks for nothing: bazel/README.md says what `-c opt` gains.)
EMULSION_FAST_COPTS = EMULSION_COPTS + ["-O2"]

# Only for targets that contain OpenMP directives or call omp_* functions.
EMULSION_OPENMP_COPTS = EMULSION_COPTS + ["-fopenmp"]
EMULSION_FAST_OPENMP_COPTS = EMULSION_FAST_COPTS + ["-fopenmp"]

EMULSION_OPENMP_LINKOPTS = ["-fopenmp"]
