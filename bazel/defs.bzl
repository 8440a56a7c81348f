"""What users of Emulsion load:

    load("@emulsion//bazel:defs.bzl", "emulsion_library")
"""

load(":kernel_library.bzl", _emulsion_library = "emulsion_library")

emulsion_library = _emulsion_library
