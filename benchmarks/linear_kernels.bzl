"""The kernels of //benchmarks:linear: one library for each level of x86-64."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//bazel:copts.bzl", "EMULSION_COPTS")
load("//bazel:made_files.bzl", "made_files")

def linear_kernels(name, level, target, shapes):
    """A cc_library with the function linear_kernels_<level>() (linear_kernel.h).

    Args:
      name: of the library.
      level: ends the names of the kernels and of the function.
      target: what schedules are derived from and kernels compiled for.
      shapes: layers as "MxNxK".
    """
    stems = [
        "linear_{}_{}_{}".format(shape, kind, level)
        for shape in shapes
        for kind in ["fused", "unfused"]
    ]
    table = "linear_kernels_{}.cc".format(level)
    archives = [stem + ".a" for stem in stems]
    headers = [stem + ".h" for stem in stems]
    made_files(
        name = name + "_files",
        outs = [table] + archives + headers,
        arguments = ["--target=" + target, "--set=" + level, "--out={folder}"] + shapes,
        tool = ":make_linear_kernels",
    )

    # A library of their own, which stands behind the table where the linker looks for its functions.
    cc_library(
        name = name + "_archives",
        srcs = archives,
        hdrs = headers,
        linkstatic = True,
        deps = [
            "//backends/runtime",
            "@halide//:runtime_headers",
        ],
    )
    cc_library(
        name = name,
        srcs = [table],
        copts = EMULSION_COPTS,
        linkstatic = True,
        deps = [
            ":linear_kernel",
            ":{}_archives".format(name),
        ],
    )

def _built_tool_impl(ctx):
    link = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = link, target_file = ctx.executable.tool, is_executable = True)
    runfiles = ctx.runfiles([link]).merge(ctx.attr.tool[DefaultInfo].default_runfiles)
    return [DefaultInfo(files = depset([link]), runfiles = runfiles)]

built_tool = rule(
    implementation = _built_tool_impl,
    attrs = {"tool": attr.label(cfg = "target", executable = True, mandatory = True)},
    doc = "A program that the build itself ran, as data of another: it would else be compiled a second time.",
)
