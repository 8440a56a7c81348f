"""emulsion_cc_library: a cc_library with our flags, compiled with a precompiled header where the build says so."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load(":copts.bzl", "EMULSION_COPTS")
load(":joined_sources.bzl", "joined_sources")

# A header that was precompiled with other flags is not read, and the one beside it is parsed: slow, but not wrong.
_WARNINGS = ["-Winvalid-pch", "-Wno-error=invalid-pch"]

def precompiled(copts):
    """What a target with the flags `copts` gets for a precompiled header.

    Args:
      copts: its flags.

    Returns:
      copts and deps to be added. None but for EMULSION_COPTS, with which the headers are precompiled.
    """
    if copts != EMULSION_COPTS:
        return struct(copts = [], deps = [])

    # .bazelrc compiles //tests with other flags than the rest.
    in_tests = (native.package_name() + "/").startswith("tests/")
    package = "tests" if in_tests else "bazel"
    return struct(
        copts = select({
            str(Label("//bazel:precompiles_headers")): ["-include", package + "/precompiled.h"] + _WARNINGS,
            "//conditions:default": [],
        }),
        deps = select({
            str(Label("//bazel:precompiles_headers")): [Label("//%s:precompiled" % package)],
            "//conditions:default": [],
        }),
    )

def emulsion_cc_library(name, srcs = [], copts = EMULSION_COPTS, deps = [], **kwargs):
    """A cc_library of this repository.

    Args:
      name: of the library.
      srcs: its source files, which are compiled several at a time (joined_sources.bzl), and its private headers.
      copts: of copts.bzl.
      deps: as for cc_library.
      **kwargs: anything else that cc_library takes.
    """
    header = precompiled(copts)
    sources = [src for src in srcs if src.endswith(".cc")]
    if len(sources) > 1:
        joined_sources(
            name = name + ".joined",
            testonly = kwargs.get("testonly", False),
            srcs = sources,
            visibility = ["//visibility:private"],
        )
        srcs = [src for src in srcs if src not in sources] + [":" + name + ".joined"]
    cc_library(
        name = name,
        srcs = srcs,
        copts = copts + header.copts,
        deps = deps + header.deps,
        **kwargs
    )
