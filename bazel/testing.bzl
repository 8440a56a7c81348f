"""Test suites that state how many cases they execute at least.

emulsion_cc_tests and suite, emulsion_cc_test, emulsion_sh_test.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")
load(":cc.bzl", precompiled_header_for = "precompiled")
load(":copts.bzl", "EMULSION_COPTS")
load(":joined_sources.bzl", "joined_sources")
load(":launcher.bzl", "launch")

def _floor_env(name, floor, env, args):
    if floor < 1:
        fail("floor of {}: expected at least 1 test case, got {}".format(name, floor))
    for argument in args:
        if argument.startswith("--gtest_filter"):
            fail("args of {}: a filter takes the floor away; only by hand: {}".format(name, argument))
    if "GTEST_FILTER" in env:
        fail("env of {}: a filter takes the floor away; only by hand: GTEST_FILTER".format(name))
    return dict(env, EMULSION_TEST_FLOOR = str(floor))

def emulsion_cc_test(
        name,
        srcs,
        floor,
        deps = [],
        copts = EMULSION_COPTS,
        env = {},
        args = [],
        size = "small",
        needs_host = False,
        precompiled = True,
        by_hand = {},
        **kwargs):
    """A cc_test with GoogleTest, GoogleMock and a main() that enforces the floor.

    Args:
      name: of the test, `<stem>_test`.
      srcs: its source files.
      floor: how many cases have to be executed when the whole suite runs, over all of its shards; skipped ones
        do not count.
      deps: what is tested. GoogleTest is among them already.
      copts: EMULSION_COPTS or EMULSION_OPENMP_COPTS.
      env: more environment for the test.
      args: as for cc_test, without a filter.
      size: as for cc_test.
      needs_host: whether it runs kernels made for Target::host(). Where the test run takes that for a target which
        the machine is not, it is skipped, and says what is missing.
      precompiled: whether a precompiled header stands before its sources; not for those that look at what a source
        includes.
      by_hand: what is otherwise in the environment of all_<name>, the same with far more, which runs when it is asked
        for. Empty: there is no such test.
      **kwargs: anything else that cc_test takes.
    """
    if needs_host:
        env = dict(env, EMULSION_TEST_NEEDS_HOST = "1")
    if precompiled:
        header = precompiled_header_for(copts)
        copts = copts + header.copts
        deps = deps + header.deps
    runs = [struct(name = name, size = size, env = env, kwargs = kwargs)]
    if by_hand:
        others = {key: value for key, value in kwargs.items() if key != "timeout"}
        runs.append(struct(
            name = "all_" + name,
            size = "enormous",
            env = dict(env, **by_hand),
            kwargs = dict(others, tags = ["manual"]),
        ))
    for run in runs:
        cc_test(
            name = run.name,
            size = run.size,
            srcs = srcs,
            args = args,
            copts = copts,
            env = _floor_env(run.name, floor, run.env, args),
            deps = [Label("//bazel/testing:floor_main"), Label("@googletest//:gtest")] + deps,
            **run.kwargs
        )

# exec: a signal for the test reaches its cases.
_SUITE_LAUNCHER = """#!/bin/sh
EMULSION_TEST_SUITE={suite} exec "{program}" "$@"
"""

def _suite_test_impl(ctx):
    script = _SUITE_LAUNCHER.replace("{suite}", ctx.label.name)
    return [
        launch(ctx, ctx.attr.program, script, ctx.files.data),
        testing.TestEnvironment({
            variable: ctx.expand_location(value, ctx.attr.data)
            for variable, value in ctx.attr.env.items()
        }),
    ]

_suite_test = rule(
    implementation = _suite_test_impl,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "env": attr.string_dict(),
        "program": attr.label(cfg = "target", executable = True, mandatory = True),
    },
    test = True,
    doc = "Runs those cases of `program` that <name>.cc has.",
)

def suite(name, floor, needs_host = False, env = {}, size = "small", **kwargs):
    """One suite of emulsion_cc_tests.

    Args:
      name: of the test, `<stem>_test`. Its cases are those of <name>.cc.
      floor: as for emulsion_cc_test.
      needs_host: as for emulsion_cc_test.
      env: as for emulsion_cc_test.
      size: as for emulsion_cc_test.
      **kwargs: what else any test takes, and `data`.

    Returns:
      what emulsion_cc_tests takes.
    """
    return struct(name = name, floor = floor, needs_host = needs_host, env = env, size = size, kwargs = kwargs)

def emulsion_cc_tests(name, suites, deps = []):
    """Several suites that are compiled together (joined_sources.bzl) and linked as one program.

    Each is a test target, as emulsion_cc_test makes it. A source has its cases, and all that it defines, in one unnamed
    namespace.

    Args:
      name: of the program.
      suites: made by suite().
      deps: what they test. GoogleTest is among them already.
    """
    joined_sources(
        name = name + ".joined",
        testonly = True,
        srcs = [each.name + ".cc" for each in suites],
        name_namespaces = True,
        visibility = ["//visibility:private"],
    )
    header = precompiled_header_for(EMULSION_COPTS)
    cc_binary(
        name = name,
        testonly = True,
        srcs = [":" + name + ".joined"],
        copts = EMULSION_COPTS + header.copts,
        deps = [Label("//bazel/testing:floor_main"), Label("@googletest//:gtest")] + deps + header.deps,
    )
    for each in suites:
        env = dict(each.env, EMULSION_TEST_NEEDS_HOST = "1") if each.needs_host else each.env
        _suite_test(
            name = each.name,
            size = each.size,
            env = _floor_env(each.name, each.floor, env, []),
            program = ":" + name,
            **each.kwargs
        )

def emulsion_sh_test(name, srcs, floor, data = [], env = {}, needs_host = False, **kwargs):
    """A sh_test whose script counts its cases: with bazel/testing/cases.sh, or Report of tests/style in Python.

    Args:
      name: of the test, `<stem>_test`.
      srcs: its script.
      floor: how many cases have to be executed; skipped ones do not count.
      data: files that it reads. cases.sh is among them already.
      env: more environment for the test.
      needs_host: as for emulsion_cc_test; only with cases.sh.
      **kwargs: anything else that sh_test takes.
    """
    if needs_host:
        why_not_host = Label("//bazel/testing:why_not_host")
        data = data + [why_not_host]
        env = dict(env, EMULSION_TEST_WHY_NOT_HOST = "$(rootpath {})".format(why_not_host))
    native.sh_test(
        name = name,
        srcs = srcs,
        data = data + [Label("//bazel/testing:cases.sh")],
        env = _floor_env(name, floor, env, []),
        **kwargs
    )
