"""A test once more, with what it tests compiled with sanitizers: emulsion_sanitized_test.

A program likewise: emulsion_sanitized_binary.

So the tests' run looks for what only a sanitizer sees, without a run of its own. What does not belong to this
repository, generated kernels and OpenMP among it, is not instrumented, or as far as it is compiled here.
"""

load(":launcher.bzl", "launch")

# The address sanitizer reports a null pointer that is read through. Checks whether a pointer is null or aligned stand at
# each access, and make compiling slow; --config=ubsan, by hand, has them.
_FLAGS = {
    "address": [
        "-fsanitize=address,undefined",
        "-fno-sanitize=null,alignment",
        "-fno-sanitize-recover=undefined",
    ],
    "thread": ["-fsanitize=thread"],
}

# Code that says how its comparisons come out guides tests/fuzz: here, so that it needs no third configuration.
_COPTS = {
    "address": ["-fsanitize-coverage=trace-cmp"],
    "thread": [],
}

# Unoptimised: quicker to compile, and more is still there to be seen.
_ALWAYS = ["-fno-omit-frame-pointer", "-g1", "-O0"]

def _sanitize_impl(settings, attr):
    flags = _FLAGS[attr.sanitizer]
    copt, linkopt = "//command_line_option:copt", "//command_line_option:linkopt"
    return {
        copt: settings[copt] + flags + _COPTS[attr.sanitizer] + _ALWAYS,
        linkopt: settings[linkopt] + flags,
    }

# g++ 12's thread sanitizer knows only some of the places that Linux may load a program at.
_LAUNCHER = """#!/bin/sh
{exports}setarch -R true 2>/dev/null && exec setarch -R "{program}" "$@"
exec "{program}" "$@"
"""

_OPTIONS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1",
    "TSAN_OPTIONS": "halt_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}

_sanitize = transition(
    implementation = _sanitize_impl,
    inputs = ["//command_line_option:copt", "//command_line_option:linkopt"],
    outputs = ["//command_line_option:copt", "//command_line_option:linkopt"],
)

def _launch_sanitized(ctx, target):
    exports = "".join(["export {}={}\n".format(name, value) for name, value in _OPTIONS.items()])
    return launch(ctx, target, _LAUNCHER.replace("{exports}", exports))

def _sanitized_test_impl(ctx):
    return [
        _launch_sanitized(ctx, ctx.attr.test[0]),
        testing.TestEnvironment(ctx.attr.env),
    ]

def _emulsion_sanitized_binary_impl(ctx):
    return [_launch_sanitized(ctx, ctx.attr.program[0])]

_SANITIZER = {
    "sanitizer": attr.string(
        values = _FLAGS.keys(),
        mandatory = True,
        doc = "address, which is undefined behaviour too, or thread.",
    ),
    "_allowlist_function_transition": attr.label(
        default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
    ),
}

_sanitized_test = rule(
    implementation = _sanitized_test_impl,
    attrs = dict(
        _SANITIZER,
        env = attr.string_dict(),
        test = attr.label(cfg = _sanitize, mandatory = True),
    ),
    test = True,
    doc = "Runs `test` in another configuration.",
)

def emulsion_sanitized_test(name, test, sanitizer, env = {}, fewer = 0, **kwargs):
    """A test once more, with what it tests compiled with a sanitizer.

    Its floor and its environment are those of the test.

    Args:
      name: of the target.
      test: an emulsion_cc_test, or a suite of emulsion_cc_tests, that stands further up in the same BUILD file.
      sanitizer: "address", which is undefined behaviour too, or "thread".
      env: more environment for this one.
      fewer: how many of its cases are compiled without the sanitizer only.
      **kwargs: what else any test takes.
    """
    rule_of_test = native.existing_rule(test.lstrip(":"))
    if rule_of_test == None:
        fail("test of {}: expected a test that stands further up in this file, got {}".format(name, test))
    env = dict(rule_of_test["env"], **env)
    env["EMULSION_TEST_FLOOR"] = str(int(env["EMULSION_TEST_FLOOR"]) - fewer)
    _sanitized_test(
        name = name,
        env = env,
        sanitizer = sanitizer,
        test = test,
        **kwargs
    )

emulsion_sanitized_binary = rule(
    implementation = _emulsion_sanitized_binary_impl,
    attrs = dict(
        _SANITIZER,
        program = attr.label(cfg = _sanitize, mandatory = True, doc = "The cc_binary."),
    ),
    executable = True,
    doc = "Runs `program` in another configuration.",
)
