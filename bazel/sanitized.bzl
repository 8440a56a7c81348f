"""A test once more, with what it tests compiled with sanitizers: emulsion_sanitized_test.

So the tests' run looks for what only a sanitizer sees, without a run of its own. What does not belong to this
repository, generated kernels and OpenMP among it, is not instrumented, or as far as it is compiled here.
"""

# Unoptimised: quicker to compile, and more is still there to be seen.
_FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}

def _sanitize_impl(settings, attr):
    flags = _FLAGS[attr.sanitizer]
    copt, linkopt = "//command_line_option:copt", "//command_line_option:linkopt"
    return {
        copt: settings[copt] + flags + ["-fno-omit-frame-pointer", "-g1", "-O0"],
        linkopt: settings[linkopt] + flags,
    }

# g++ 12's thread sanitizer knows only some of the places that Linux may load a program at.
_LAUNCHER = """#!/bin/sh
setarch -R true 2>/dev/null && exec setarch -R "{program}" "$@"
exec "{program}" "$@"
"""

_sanitize = transition(
    implementation = _sanitize_impl,
    inputs = ["//command_line_option:copt", "//command_line_option:linkopt"],
    outputs = ["//command_line_option:copt", "//command_line_option:linkopt"],
)

def _emulsion_sanitized_test_impl(ctx):
    test = ctx.attr.test[0][DefaultInfo]
    program = test.files_to_run.executable
    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(launcher, _LAUNCHER.format(program = program.short_path), is_executable = True)
    environment = dict(
        ctx.attr.env,
        EMULSION_TEST_FLOOR = str(ctx.attr.floor),
        ASAN_OPTIONS = "allocator_may_return_null=1:detect_leaks=1",
        TSAN_OPTIONS = "halt_on_error=1",
        UBSAN_OPTIONS = "print_stacktrace=1",
    )
    return [
        DefaultInfo(executable = launcher, runfiles = ctx.runfiles([program]).merge(test.default_runfiles)),
        testing.TestEnvironment(environment),
    ]

emulsion_sanitized_test = rule(
    implementation = _emulsion_sanitized_test_impl,
    attrs = {
        "env": attr.string_dict(doc = "Environment for the test."),
        "floor": attr.int(mandatory = True, doc = "As for emulsion_cc_test."),
        "sanitizer": attr.string(
            values = _FLAGS.keys(),
            mandatory = True,
            doc = "address, which is undefined behaviour too, or thread.",
        ),
        "test": attr.label(cfg = _sanitize, mandatory = True, doc = "The emulsion_cc_test."),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    test = True,
    doc = "Runs `test` in another configuration; its floor and environment are stated again.",
)
