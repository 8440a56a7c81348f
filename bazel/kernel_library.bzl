"""emulsion_library: a function that builds a graph becomes a library with a kernel in it.

Everything that runs here runs in actions with declared inputs and an empty environment, for explicit
instruction sets: the machine that builds leaves no trace in the kernel, so caches can be shared.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")
load(":copts.bzl", "EMULSION_COPTS")
load(":testing.bzl", "emulsion_cc_test")

_DEFAULT_TARGETS = [
    "x86-64-v4",
    "x86-64-v3",
    "x86-64-linux",
]

EmulsionKernelInfo = provider(
    doc = "A kernel, for rules that look at it.",
    fields = {
        "archive": "File: the static library.",
        "c_header": "File: the C header, as Halide writes it.",
        "header": "File: the typed C++17 header.",
        "manifest": "File: what the kernel is, as JSON.",
        "name": "The kernel's C function.",
        "nests": "Files: the loops, one for each target.",
        "schedules": "Files: the schedules, one for each target.",
        "targets": "The targets as they were written.",
    },
)

def _declare_texts(ctx, name, suffix):
    return [
        ctx.actions.declare_file("{}{}{}".format(name, "." + str(i) if i else "", suffix))
        for i in range(len(ctx.attr.targets))
    ]

def _declare(ctx, name):
    return EmulsionKernelInfo(
        archive = ctx.actions.declare_file(name + ".a"),
        c_header = ctx.actions.declare_file(name + ".h"),
        header = ctx.actions.declare_file(name + "_kernel.h"),
        manifest = ctx.actions.declare_file(name + ".json"),
        name = name,
        nests = _declare_texts(ctx, name, ".nest.txt"),
        schedules = _declare_texts(ctx, name, ".schedule.txt"),
        targets = ctx.attr.targets,
    )

def _generate(ctx, kernel, outputs, mnemonic, makes, options = []):
    """One run of the generator.

    Args:
      ctx: of the rule.
      kernel: what it is about.
      outputs: the files that it makes.
      mnemonic: of the action.
      makes: for whoever watches the build: "Compiling kernel".
      options: more arguments, such as those that ask for texts instead of a kernel.
    """
    arguments = ctx.actions.args()
    arguments.add(kernel.name, format = "--name=%s")
    arguments.add(str(ctx.label), format = "--label=%s")
    arguments.add_all(kernel.targets, format_each = "--target=%s")
    arguments.add(kernel.archive.dirname, format = "--out=%s")
    for file in ctx.files.data:
        arguments.add("--data={}={}".format(file.short_path, file.path))
    if ctx.file.schedule:
        arguments.add(ctx.file.schedule, format = "--schedule=%s")
    if not ctx.attr.fuse:
        arguments.add("--no-fuse")
    arguments.add_all(ctx.attr.fail_on_unfused, format_each = "--fail_on_unfused=%s")
    if ctx.attr.checked:
        arguments.add("--checked")
    arguments.add_all(options)
    ctx.actions.run(
        arguments = [arguments],
        env = {
            # For --config=asan: LLVM keeps what it allocated until the process ends.
            "ASAN_OPTIONS": "detect_leaks=0",
            "LC_ALL": "C",
        },
        executable = ctx.executable.generator,
        inputs = ctx.files.data + ([ctx.file.schedule] if ctx.file.schedule else []),
        mnemonic = mnemonic,
        outputs = outputs,
        progress_message = "%s %s for %s" % (makes, ctx.label, ", ".join(kernel.targets)),
    )

def _inspect(ctx, kernel):
    """Texts that are made only when their output group is asked for.

    Args:
      ctx: of the rule.
      kernel: what they are about.

    Returns:
      The files by output group.
    """
    graph = ctx.actions.declare_file(kernel.name + ".graph.txt")
    dump = ctx.actions.declare_file(kernel.name + ".dump.txt")
    _generate(ctx, kernel, [graph, dump], "EmulsionDump", "Dumping kernel", [
        "--graph=" + graph.path,
        "--dump=" + dump.path,
    ])
    statements = _declare_texts(ctx, kernel.name, ".stmt.txt")
    assembly = _declare_texts(ctx, kernel.name, ".s")
    _generate(ctx, kernel, statements + assembly, "EmulsionCode", "Writing the code of kernel", ["--code"])
    return {"asm": assembly, "dump": [dump], "graph": [graph], "stmt": statements}

def _root(ctx):
    """The folder below which the outputs' paths are those that are written behind #include."""
    root = ctx.bin_dir.path
    return root + "/" + ctx.label.workspace_root if ctx.label.workspace_root else root

def _cc_info(ctx, kernel):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    library = cc_common.create_library_to_link(
        actions = ctx.actions,
        cc_toolchain = toolchain,
        feature_configuration = features,
        static_library = kernel.archive,
    )
    own = CcInfo(
        compilation_context = cc_common.create_compilation_context(
            headers = depset([kernel.c_header, kernel.header]),
            quote_includes = depset([_root(ctx)]),
        ),
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset([cc_common.create_linker_input(
                libraries = depset([library]),
                owner = ctx.label,
            )]),
        ),
    )

    # The archive first: it needs what the runtime defines.
    return cc_common.merge_cc_infos(
        cc_infos = [own] + [dep[CcInfo] for dep in ctx.attr.runtime],
    )

def _kernel_impl(ctx):
    kernel = _declare(ctx, ctx.label.name)
    headers = [kernel.c_header, kernel.header]
    outputs = [kernel.archive] + headers + kernel.schedules + kernel.nests + [kernel.manifest]
    checks = ["--check_reproducible"] if ctx.attr.check_reproducible else []
    _generate(ctx, kernel, outputs, "EmulsionKernel", "Compiling kernel", checks)
    texts = _inspect(ctx, kernel)
    return [
        DefaultInfo(
            # For a program that has the kernel among its `data` to read; nothing for one that links it.
            data_runfiles = ctx.runfiles(files = kernel.schedules + kernel.nests + [kernel.manifest]),
            default_runfiles = ctx.runfiles(),
            files = depset(outputs),
        ),
        OutputGroupInfo(
            archive = depset([kernel.archive]),
            asm = depset(texts["asm"]),
            dump = depset(texts["dump"]),
            graph = depset(texts["graph"]),
            headers = depset(headers),
            manifest = depset([kernel.manifest]),
            nest = depset(kernel.nests),
            schedule = depset(kernel.schedules),
            stmt = depset(texts["stmt"]),
        ),
        _cc_info(ctx, kernel),
        kernel,
    ]

_emulsion_kernel = rule(
    implementation = _kernel_impl,
    attrs = {
        "check_reproducible": attr.bool(default = False, doc = "Whether the graph is made twice and compared."),
        "checked": attr.bool(default = False, doc = "Whether the kernel looks at each of its offsets."),
        "data": attr.label_list(allow_files = True, doc = "What the generator may read."),
        "fail_on_unfused": attr.string_list(doc = "What must not be computed apart."),
        "fuse": attr.bool(default = True, doc = "For derived schedules."),
        # Not cfg = "exec": that compiles the DSL, the passes and the backends a second time, and a kernel is
        # only ever built on a machine that could run it: Halide's wheel is for x86-64, as the targets are.
        "generator": attr.label(cfg = "target", executable = True, mandatory = True),
        "runtime": attr.label_list(
            default = [
                Label("//backends/runtime"),
                Label("//backends/runtime:kernel_call"),
            ],
            doc = "What the kernel and its headers need.",
            providers = [CcInfo],
        ),
        "schedule": attr.label(allow_single_file = True, doc = "Instead of derived ones."),
        "targets": attr.string_list(mandatory = True, doc = "The best first."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    doc = "Runs a generator and makes its output a C++ library.",
    fragments = ["cpp"],
    provides = [CcInfo, EmulsionKernelInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _c_string(text):
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\""

def _registration_impl(ctx):
    kernel = ctx.attr.kernel[EmulsionKernelInfo]
    header = kernel.header.short_path
    if header.startswith("../"):  # ../repository/path
        header = header.split("/", 2)[2]
    files = [_c_string(file.short_path) for file in ctx.files.data]
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    ctx.actions.write(source, """// Generated: tells a test or benchmark which kernel it is for.
#include "backends/codegen/kernel_cases.h"
#include "{header}"

const emulsion::KernelUnderTest& emulsion::kernel_under_test() {{
  static const KernelUnderTest kernel = {{&kernels::{name}::info(), {{{data}}}}};
  return kernel;
}}
""".format(
        data = ", ".join(["{%s, %s}" % (f, f) for f in files]),
        header = header,
        name = kernel.name,
    ))
    return [DefaultInfo(files = depset([source]))]

_kernel_registration = rule(
    implementation = _registration_impl,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "kernel": attr.label(mandatory = True, providers = [EmulsionKernelInfo]),
    },
    doc = "The source file that connects a kernel to the programs that test it.",
)

def _expect_type(name, attribute, value, types, words):
    if type(value) not in types:
        fail("emulsion_library {}: {}: expected {}, got the {} {}".format(
            name,
            attribute,
            words,
            type(value),
            repr(value),
        ))

def _check(name, src, targets, lists, switches):
    _expect_type(name, "name", name, ["string"], "a string")
    _expect_type(name, "src", src, ["string", "Label"], "one file, such as \"mlp.cc\"")
    for ending in [".h", ".hh", ".hpp", ".inc"]:
        if str(src).endswith(ending):  # cc_library takes it, and nothing would be compiled
            fail("emulsion_library {}: src: expected a C++ file that is compiled, such as \"mlp.cc\", got {}".format(
                name,
                src,
            ))
    _expect_type(name, "targets", targets, ["list"], "a list such as [\"x86-64-v3\"]")
    for attribute, value in lists.items():
        _expect_type(name, attribute, value, ["list", "select", "tuple"], "a list")
    for attribute, value in switches.items():
        _expect_type(name, attribute, value, ["bool", "int", "select"], "True or False")
    legal = name and name[0].isalpha() and name.replace("_", "a").isalnum() and "__" not in name
    if not legal:
        fail(("emulsion_library {}: expected a name that can be a C function, a letter and then letters, digits " +
              "and single underscores").format(name))
    if not targets:
        fail("emulsion_library {}: expected at least one target, got none".format(name))
    for target in targets:
        _expect_type(name, "targets", target, ["string"], "strings, such as \"x86-64-v3\"")
        if target == "tile-machine" or target.startswith("tile-machine,"):
            fail(("emulsion_library {}: target \"{}\": expected instruction sets of a processor, such as " +
                  "\"x86-64-v3\": there is no code generator for the tile machine").format(name, target))
        if target == "host" or target.startswith("host-"):
            fail(("emulsion_library {}: target \"{}\": expected explicit instruction sets, such as \"x86-64-v3\": " +
                  "what is built must not depend on the machine that builds it").format(name, target))

def emulsion_library(
        name,
        src,
        targets = _DEFAULT_TARGETS,
        cores = 8,
        schedule = None,
        data = [],
        deps = [],
        fuse = True,
        fail_on_unfused = [],
        checked = False,
        check_reproducible = False,
        test = True,
        test_tolerance = None,
        test_size = "small",
        tags = [],
        testonly = None,
        visibility = None):
    """A kernel as a C++ library, with a test and a benchmark.

    Makes these targets:
      <name>: a library with the C function <name>; include "<package>/<name>_kernel.h" (typed, C++17) or
        "<package>/<name>.h" (C, as Halide writes it). `--output_groups=schedule`, `nest`, `manifest`, `graph`,
        `dump`, `stmt` and `asm` are the texts that tell how it computes.
      <name>_test: compares the kernel with the interpreter, for awkward sizes and for each target. It takes as
        long as the interpreter does, which is slow: not for kernels of more than about a billion operations.
      <name>_benchmark: time and GFLOP/s; manual, so that it has to be asked for.

    Args:
      name: of the library and of its C function. Two different kernels of one name do not link into one program,
        whatever packages they are in ("multiple definition of `<name>'"). Where some are in shared libraries,
        each header, in C too, calls its own.
      src: a C++ file that includes "backends/codegen/kernel_context.h" and defines
        `emulsion::Graph emulsion_kernel(const emulsion::KernelContext& context)`.
      targets: instruction sets as Halide spells them ("x86-64-linux-avx2-fma") or levels ("x86-64-v3"), the best
        first: the first that the processor has is run, and one that would never be run is refused, as "host" is.
      cores: how many threads derived schedules make work for; 1 for none. How many there are when the kernel runs
        is OpenMP's to say. A target may say it for itself ("x86-64-v3,cores=32").
      schedule: a schedule file for all targets, as JSON when its name ends in .json, else as text; without it,
        one is derived for each.
      data: files that the source reads, such as weights: KernelContext::constant and path find them.
      deps: more that the source needs.
      fuse: False derives schedules that compute every operation by itself, through memory.
      fail_on_unfused: patterns such as "matmul+bias+relu" (passes/fuse/named_pattern.h), or "siblings", "shared rows" and others
        that passes/fuse/expect_fused.h lists, of which each that the graph holds must be computed as one, for every target. Else the build fails and says what stayed apart,
        and why; as it does when the graph holds no such thing.
      checked: True makes a kernel that compares every offset with the memory that it goes to, before it uses it,
        and returns a code and a message instead of leaving that memory. For finding mistakes: such a kernel is
        many times slower.
      check_reproducible: True makes the graph in a second process, too, later and with other variables, and
        refuses when it is another one. It takes a second or two.
      test: whether to make <name>_test and <name>_benchmark.
      test_tolerance: how far a result may be from the interpreter's, as a part of the largest; where sums are
        exact nothing may differ, whatever this says.
      test_size: as for cc_test.
      tags: for all targets.
      testonly: for all targets.
      visibility: of <name>.
    """
    _check(
        name,
        src,
        targets,
        lists = {"data": data, "deps": deps, "fail_on_unfused": fail_on_unfused, "tags": tags},
        switches = {"check_reproducible": check_reproducible, "checked": checked, "fuse": fuse, "test": test},
    )
    if type(fail_on_unfused) != "select":
        for pattern in fail_on_unfused:
            words = "patterns, such as \"matmul+bias+relu\""
            _expect_type(name, "fail_on_unfused", pattern, ["string"], words)
            if not pattern:
                fail("emulsion_library {}: fail_on_unfused: expected {}, got the empty string".format(name, words))
    if fail_on_unfused and (schedule or not fuse):
        fail(("emulsion_library {}: fail_on_unfused: expected schedules that are derived and fused, got {}: " +
              "nothing is fused then").format(name, "a schedule" if schedule else "fuse = False"))
    cc_library(
        name = name + "_graph",
        srcs = [src],
        # A function that needs nothing of its context may name it nevertheless.
        copts = EMULSION_COPTS + ["-Wno-unused-parameter"],
        tags = tags,
        testonly = testonly,
        visibility = ["//visibility:private"],
        deps = [Label("//backends/codegen:kernel_context")] + deps,
        alwayslink = True,
    )
    cc_binary(
        name = name + "_generator",
        copts = EMULSION_COPTS,
        tags = tags,
        testonly = testonly,
        visibility = ["//visibility:private"],
        deps = [
            ":" + name + "_graph",
            Label("//backends/codegen:generator_main"),
        ],
    )
    _emulsion_kernel(
        name = name,
        check_reproducible = check_reproducible,
        checked = checked,
        data = data,
        fail_on_unfused = fail_on_unfused,
        fuse = fuse,
        generator = ":" + name + "_generator",
        schedule = schedule,
        tags = tags,
        targets = [t if "cores=" in t else "{},cores={}".format(t, cores) for t in targets],
        testonly = testonly,
        visibility = visibility,
    )
    if not test:
        return
    _kernel_registration(
        name = name + "_registration",
        testonly = True,
        data = data,
        kernel = ":" + name,
        tags = tags,
        visibility = ["//visibility:private"],
    )
    emulsion_cc_test(
        name = name + "_test",
        size = test_size,
        srcs = [":" + name + "_registration"],
        data = data,
        env = {"EMULSION_TEST_TOLERANCE": str(test_tolerance)} if test_tolerance else {},
        floor = 1 + len(targets),
        linkstatic = True,
        precompiled = False,
        tags = tags,
        visibility = ["//visibility:private"],
        deps = [
            ":" + name,
            ":" + name + "_graph",
            Label("//bazel/testing:kernel_test_cases"),
        ],
    )
    cc_binary(
        name = name + "_benchmark",
        testonly = True,
        srcs = [":" + name + "_registration"],
        copts = EMULSION_COPTS,
        data = data,
        tags = tags + ["manual"],
        visibility = ["//visibility:private"],
        deps = [
            ":" + name,
            ":" + name + "_graph",
            Label("//bazel/testing:kernel_benchmark_main"),
        ],
    )
