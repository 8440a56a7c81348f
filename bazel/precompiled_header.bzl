"""precompiled_header: headers that many source files include, parsed once for all of them."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_COMPILE = "c++-compile"

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context

    # The header is made too: were it in the source tree, g++ would find it there, and not what is precompiled.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    ctx.actions.write(header, "".join(["#include <{}>\n".format(name) for name in ctx.attr.headers]))

    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    options = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts
    variables = cc_common.create_compile_variables(
        cc_toolchain = toolchain,
        feature_configuration = features,
        include_directories = context.includes,
        output_file = precompiled.path,
        preprocessor_defines = context.defines,
        quote_include_directories = context.quote_includes,
        source_file = header.path,
        system_include_directories = context.system_includes,
        # As Bazel compiles what goes into programs: position independent code, but with `-c opt`.
        use_pic = ctx.var["COMPILATION_MODE"] != "opt",
        user_compile_flags = options + ["-x", "c++-header"],
    )
    ctx.actions.run(
        arguments = cc_common.get_memory_inefficient_command_line(
            action_name = _COMPILE,
            feature_configuration = features,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            action_name = _COMPILE,
            feature_configuration = features,
            variables = variables,
        ),
        executable = cc_common.get_tool_for_action(action_name = _COMPILE, feature_configuration = features),
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        mnemonic = "PrecompiledHeader",
        outputs = [precompiled],
        progress_message = "Compiling %s.h" % ctx.label,
    )

    # `-include` looks in the folder of what is made.
    root = "/".join([ctx.bin_dir.path] + ([ctx.label.workspace_root] if ctx.label.workspace_root else []))
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([header, precompiled]),
        quote_includes = depset([root]),
    ))
    parsed = CcInfo(compilation_context = context)  # where g++ does not take what is precompiled
    return [
        cc_common.merge_cc_infos(direct_cc_infos = [own], cc_infos = [parsed]),
        DefaultInfo(files = depset([header, precompiled])),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "copts": attr.string_list(doc = "As those of the files that include it: where they differ, g++ reads the header itself."),
        "deps": attr.label_list(doc = "The libraries of the headers.", providers = [CcInfo]),
        "headers": attr.string_list(doc = "What it includes, as between < and >.", mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    doc = "<name>.h, for `-include <package>/<name>.h` of a file that depends on it.",
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
