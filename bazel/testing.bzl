"""emulsion_cc_test: a GoogleTest suite that states how many cases it executes at least."""

load("@rules_cc//cc:defs.bzl", "cc_test")
load(":copts.bzl", "EMULSION_COPTS")

def emulsion_cc_test(name, srcs, floor, deps = [], copts = EMULSION_COPTS, env = {}, size = "small", **kwargs):
    """A cc_test with GoogleTest, GoogleMock and a main() that enforces the floor.

    Args:
      name: of the test, `<stem>_test`.
      srcs: its source files.
      floor: how many cases have to be executed when the whole suite runs; skipped ones do not count.
      deps: what is tested. GoogleTest is among them already.
      copts: EMULSION_COPTS or EMULSION_OPENMP_COPTS.
      env: more environment for the test.
      size: as for cc_test.
      **kwargs: anything else that cc_test takes.
    """
    if floor < 1:
        fail("floor of {}: expected at least 1 test case, got {}".format(name, floor))
    cc_test(
        name = name,
        size = size,
        srcs = srcs,
        copts = copts,
        env = dict(env, EMULSION_TEST_FLOOR = str(floor)),
        deps = [Label("//bazel/testing:floor_main"), Label("@googletest//:gtest")] + deps,
        **kwargs
    )
