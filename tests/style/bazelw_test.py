"""Tests of bazelw with made-up machines: a folder as the whole PATH, a fake Bazel, apt-get, id and uname."""

import os
import shutil
import subprocess
import tempfile
import unittest

import source_tree

BAZELW = os.path.join(source_tree.ROOT, "bazelw")
TOOLS = ("clang-format", "dirname", "g++", "head", "id", "python3", "sh", "uname")


class BazelwTest(unittest.TestCase):
    def setUp(self):
        self.path = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.path)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), self.file(tool))
        self.bazel("no_version")

    def file(self, name):
        return os.path.join(self.path, name)

    def fake(self, name, text):
        if os.path.lexists(self.file(name)):
            os.remove(self.file(name))
        with open(self.file(name), "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n" + text)
        os.chmod(self.file(name), 0o755)

    def bazel(self, version, name="bazel"):
        self.fake(
            name,
            'if [ "$1" = --version ]; then echo "bazel {}"; exit; fi\n'
            'echo {}; for a in "$@"; do echo "[$a]"; done\n'.format(version, name),
        )

    def run_bazelw(self, *arguments, **env):
        return subprocess.run(
            [BAZELW] + list(arguments),
            env=dict(env, PATH=self.path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    def refused(self, *substrings, **env):
        run = self.run_bazelw("build", "//...", **env)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stdout, "")
        for substring in substrings:
            self.assertIn(substring, run.stderr)

    def test_all_there_is_silent_and_passes_every_argument(self):
        run = self.run_bazelw("--output_base=/x y", "test", "//...", "--copt=-DA=\"b c\"", "")
        self.assertEqual(run.stderr, "")
        self.assertEqual(
            run.stdout, 'bazel\n[--output_base=/x y]\n[test]\n[//...]\n[--copt=-DA="b c"]\n[]\n'
        )

    def test_bazels_exit_status_is_its_own(self):
        self.fake("bazel", 'if [ "$1" = --version ]; then echo bazel 6.5.0; exit; fi; exit 3')
        self.assertEqual(self.run_bazelw("test").returncode, 3)

    def test_bazel_7_and_8_are_put_into_workspace_mode(self):
        for major in ("7", "8"):
            self.bazel(major + ".2.1")
            run = self.run_bazelw("build")
            expected = "[--bazelrc={}/bazel/workspace_mode_{}.bazelrc]\n[build]\n".format(source_tree.ROOT, major)
            self.assertEqual(run.stdout, "bazel\n" + expected)
            rc = source_tree.read("bazel/workspace_mode_{}.bazelrc".format(major))
            self.assertEqual("--enable_workspace" in rc, major == "8")

    def test_bazel_4_2_to_6_are_taken_as_they_are(self):
        for version in ("4.2.0", "4.2.3- (@non-git)", "5.0.0-pre", "6.5.0"):
            self.bazel(version)
            self.assertEqual(self.run_bazelw("build").stdout, "bazel\n[build]\n", version)

    def test_the_variable_bazel_comes_first(self):
        self.bazel("6.0.0", name="other")
        self.assertEqual(self.run_bazelw("build", BAZEL="other").stdout, "other\n[build]\n")

    def test_the_variable_bazel_has_to_be_usable(self):
        for version in ("3.7.2", "4.1.0", "9.0.0", "nonsense"):
            self.bazel(version, name="other")
            self.refused("BAZEL=other is not a Bazel from 4.2 to 8", version, BAZEL="other")

    def test_a_bazel_that_is_too_new_is_passed_over(self):
        self.bazel("9.0.0")
        self.bazel("6.0.0", name="bazelisk")
        run = self.run_bazelw("build")
        # Debian's own is looked for before bazelisk.
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("bazel\n[build]", run.stdout.splitlines()[0])

    def test_without_root_the_command_is_printed(self):
        os.remove(self.file("clang-format"))
        self.fake("apt-get", "echo called; exit 1")
        self.fake("id", "echo 1000")
        self.refused(
            "missing: clang-format",
            "  sudo apt-get update && sudo apt-get install -y --no-install-recommends clang-format\n",
        )

    def test_without_apt_the_packages_are_named(self):
        os.remove(self.file("clang-format"))
        os.remove(self.file("g++"))
        self.refused("missing: clang-format g++", "there is no apt-get")

    def test_root_installs_and_goes_on(self):
        os.remove(self.file("clang-format"))
        self.fake("id", "echo 0")
        self.fake(
            "apt-get",
            'echo "apt-get $*" >&2\ncase "$*" in *install*) ln -s /bin/true {} ;; esac\n'.format(
                self.file("clang-format")
            ),
        )
        os.symlink(shutil.which("ln"), self.file("ln"))
        run = self.run_bazelw("build")
        self.assertEqual(run.stdout, "bazel\n[build]\n", run.stderr)
        self.assertLess(run.stderr.index(" update"), run.stderr.index(" install "))
        self.assertIn("--no-install-recommends clang-format\n", run.stderr)

    def test_an_apt_that_fails_is_reported(self):
        os.remove(self.file("clang-format"))
        self.fake("id", "echo 0")
        self.fake("apt-get", "echo 'E: no network' >&2; exit 100")
        self.refused("E: no network", "apt-get update failed", "could not install: clang-format")

    def test_an_apt_that_installs_nothing_is_noticed(self):
        os.remove(self.file("clang-format"))
        self.fake("id", "echo 0")
        self.fake("apt-get", "exit 0")
        self.refused("still missing after apt-get install: clang-format")

    def test_another_system_is_refused(self):
        self.fake("uname", 'case "$1" in -s) echo Darwin ;; *) echo x86_64 ;; esac')
        self.refused("Linux (x86-64) only, this is Darwin")

    def test_another_processor_is_refused(self):
        self.fake("uname", 'case "$1" in -s) echo Linux ;; *) echo aarch64 ;; esac')
        self.refused("x86-64 only, this is aarch64")


if __name__ == "__main__":
    source_tree.run_unittests("Bazelw", BazelwTest)
