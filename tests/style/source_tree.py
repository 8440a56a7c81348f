"""What the style checks share: the files of the source tree, and a report that Bazel and .ci/run can read."""

import os
import sys
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# Where sources are. Anything else at the top (.git, bazel-out, somebody's notes) is not looked at.
FOLDERS = (
    ".ci",
    "backends",
    "bazel",
    "benchmarks",
    "dsl",
    "examples",
    "frontends",
    "passes",
    "tests",
    "tools",
)


def files(*suffixes, folders=FOLDERS):
    """Paths below the root, sorted, of the files in `folders` that end in one of `suffixes` (all without any)."""
    found = []
    for folder in folders:
        for path, subfolders, names in os.walk(os.path.join(ROOT, folder)):
            subfolders[:] = [s for s in subfolders if s != "__pycache__" and not s.startswith("bazel-")]
            found += [os.path.relpath(os.path.join(path, n), ROOT) for n in names]
    return sorted(f for f in found if not suffixes or f.endswith(suffixes))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return text.read()


class Report:
    """One test case for each rule, with all its problems; `finish` prints them and writes Bazel's XML.

    Fewer executed cases than EMULSION_TEST_FLOOR are a failure; by hand, without the variable, any number will do.
    """

    def __init__(self, suite):
        self.suite = suite
        self.cases = []

    def case(self, name, problems):
        self.cases.append((name, list(problems), None))

    def skip(self, name, reason):
        self.cases.append((name, [], reason))

    def hold_against_floor(self):
        executed = sum(1 for _, _, skipped in self.cases if skipped is None)
        floor = int(os.environ.get("EMULSION_TEST_FLOOR", "0"))
        if executed < floor:
            self.case("Floor", ["executed {} test cases, the floor is {}".format(executed, floor)])

    def finish(self):
        self.hold_against_floor()
        suite = ElementTree.Element("testsuite", name=self.suite, tests=str(len(self.cases)))
        failed = False
        for name, problems, skipped in self.cases:
            result = "skipped" if skipped else "completed"
            case = ElementTree.SubElement(
                suite, "testcase", name=name, classname=self.suite, status="run", result=result
            )
            if skipped:
                ElementTree.SubElement(case, "skipped", message=skipped)
                print("skipped: {}: {}".format(name, skipped))
            for problem in problems:
                failed = True
                ElementTree.SubElement(case, "failure", message=problem)
                print("{}: {}".format(name, problem))
        if os.environ.get("XML_OUTPUT_FILE"):
            ElementTree.ElementTree(suite).write(os.environ["XML_OUTPUT_FILE"], "utf-8", True)
        sys.exit(1 if failed else 0)


def run_unittests(name, test_class):
    """Runs a unittest.TestCase and reports each of its methods as one case."""
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(test_class)
    names = [test.id().rsplit(".", 1)[-1] for test in suite]
    run = unittest.TextTestRunner().run(suite)
    broken = {test.id().rsplit(".", 1)[-1]: text for test, text in run.failures + run.errors}
    report = Report(name)
    for case in names:
        report.case(case, [broken[case]] if case in broken else [])
    report.finish()
