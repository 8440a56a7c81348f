"""Every BUILD and .bzl file is as buildifier leaves it, and has no lint. tests/style/fix.sh mends the first.

Usage: buildifier.py STATUS_FILE      (beside it `tool`, when the repository rule could get buildifier)
"""

import os
import subprocess
import sys

import source_tree

# Not asked for:
#   native-sh-*         Debian has no rules_shell
#   native-cc-common    Debian's rules_cc has no file to load it from; native-cc-info likewise
#   list-append etc.    are all on: this list is what is off
OFF = ("native-cc-common", "native-cc-info", "native-sh-binary", "native-sh-library", "native-sh-test")


def main():
    report = source_tree.Report("Buildifier")
    status = os.path.abspath(sys.argv[1])
    with open(status, encoding="utf-8") as text:
        reason = text.read().strip()
    paths = source_tree.files("BUILD", ".bzl", ".BUILD", "WORKSPACE") + ["BUILD", "WORKSPACE"]
    report.case("FindsFiles", [] if "bazel/testing.bzl" in paths else ["no file found"])
    if reason != "ready":
        report.skip("Formats", reason)
        report.skip("Lints", reason)
        report.finish()
    tool = os.path.join(os.path.dirname(status), "tool")
    for name, flags in (
        ("Formats", ["-mode=check"]),
        ("Lints", ["-mode=check", "-lint=warn", "-warnings=" + ",".join("-" + w for w in OFF)]),
    ):
        run = subprocess.run(
            [tool] + flags + paths,
            cwd=source_tree.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        problems = run.stdout.strip().splitlines()
        if run.returncode and not problems:
            problems = ["buildifier ended with {}".format(run.returncode)]
        report.case(name, problems if run.returncode else [])
    report.finish()


if __name__ == "__main__":
    main()
