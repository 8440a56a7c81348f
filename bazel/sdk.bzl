"""emulsion_sdk: Emulsion as a tarball, for builds without Bazel."""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

# Of other repositories, only the headers that ours include: where they are -> where they go.
_FOREIGN_HEADERS = {
    "fmt/include/": "",
    "halide/runtime/": "",
}

def _header_line(file):
    """What the script reads of one file: KIND, where it is, where it goes."""
    path = file.short_path
    if path.startswith("bazel/precompiled.h"):
        return []
    if not path.startswith("../"):
        return ["header", file.path, path]
    for prefix, to in _FOREIGN_HEADERS.items():
        if path.startswith("../" + prefix):
            return ["header", file.path, to + path[len("../" + prefix):]]
    return []

def _example_line(file):
    return ["example", file.path, file.short_path.split("/consumer/")[-1].split("/sdk/")[-1]]

def _libraries(deps):
    return [
        library
        for dep in deps
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list()
        for library in linker_input.libraries
    ]

def _code(libraries):
    """Object files; of libraries that came as an archive, that. And those that are shared."""
    objects = []
    shared = []
    for library in libraries:
        own = library.pic_objects or library.objects
        if own:
            objects.extend(own)
        elif library.pic_static_library or library.static_library:
            objects.append(library.pic_static_library or library.static_library)
        elif library.dynamic_library:
            shared.append(library.dynamic_library)
    return struct(objects = objects, shared = shared)

def _sdk_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    generator = _code(_libraries(ctx.attr.generator))
    runtime = _code(_libraries(ctx.attr.runtime))
    headers = depset(transitive = [
        dep[CcInfo].compilation_context.headers
        for dep in ctx.attr.headers
    ])
    contents = ctx.actions.args()
    contents.use_param_file("%s", use_always = True)
    contents.set_param_file_format("multiline")
    contents.add_all(headers, map_each = _header_line)
    contents.add_all(ctx.files.example, map_each = _example_line)
    for kind, files in [
        ("template", ctx.files.templates),
        ("generator", generator.objects),
        ("runtime", runtime.objects),
        ("shared", generator.shared),
    ]:
        for file in files:
            contents.add_all([kind, file.path, file.basename])
    out = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    arguments = ctx.actions.args()
    arguments.add(ctx.file.script)
    arguments.add(out)
    arguments.add(ctx.file.version)
    arguments.add(ctx.file.license)
    arguments.add(toolchain.ld_executable)
    arguments.add(toolchain.ar_executable)
    ctx.actions.run_shell(
        arguments = [arguments, contents],
        command = "exec bash \"$@\"",
        env = {
            "LC_ALL": "C",
            "PATH": "/bin:/usr/bin",
        },
        inputs = depset(
            [ctx.file.script, ctx.file.version, ctx.file.license] + ctx.files.templates + ctx.files.example +
            generator.objects + generator.shared + runtime.objects,
            transitive = [headers, toolchain.all_files],
        ),
        mnemonic = "EmulsionSdk",
        outputs = [out],
        progress_message = "Packing %s" % ctx.label,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

emulsion_sdk = rule(
    implementation = _sdk_impl,
    attrs = {
        "example": attr.label_list(allow_files = True, doc = "Files of the example, by their place in its folder."),
        "generator": attr.label_list(doc = "What a generator links, its main() included.", providers = [CcInfo]),
        "headers": attr.label_list(doc = "Whose headers a user may include.", providers = [CcInfo]),
        "license": attr.label(allow_single_file = True, mandatory = True),
        "runtime": attr.label_list(doc = "What a kernel links.", providers = [CcInfo]),
        "script": attr.label(allow_single_file = True, default = "//bazel:sdk/make_sdk.sh"),
        "templates": attr.label_list(allow_files = True, doc = "With @VERSION@ for the version."),
        "version": attr.label(allow_single_file = True, mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    doc = "NAME.tar.gz; bazel/sdk/README.md says what is in it.",
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
