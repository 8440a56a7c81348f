"""Compiler and linker flags, in one place.

Warnings become errors through .bazelrc, in this repository's own files only: somebody who builds
Emulsion from outside with another compiler is not stopped by a new warning.
"""

EMULSION_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
]

# Only for targets that contain OpenMP directives or call omp_* functions.
EMULSION_OPENMP_COPTS = EMULSION_COPTS + ["-fopenmp"]

EMULSION_OPENMP_LINKOPTS = ["-fopenmp"]
