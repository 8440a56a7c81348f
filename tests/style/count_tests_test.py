"""Tests of .ci/count_tests.py on made-up build events."""

import os
import sys
import tempfile
import unittest

import source_tree

sys.path.insert(0, os.path.join(source_tree.ROOT, ".ci"))
import count_tests  # noqa: E402

GTEST = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="skipped" classname="S"><skipped message="no AMX"/></testcase>
<testcase name="C" status="notrun" result="suppressed" classname="S"/>
{}
</testsuite></testsuites>"""
FAILING = '<testcase name="D" status="run" result="completed" classname="S"><failure message="no"/></testcase>'
BAZELS_OWN = '<testsuites><testsuite name="x"><testcase name="x" status="run"/></testsuite></testsuites>'


def configured(label, size="SMALL"):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": size}}


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def result(self, label, xml, status="PASSED", **key):
        path = os.path.join(self.folder.name, "{}.xml".format(len(os.listdir(self.folder.name))))
        with open(path, "w", encoding="utf-8") as out:
            out.write(xml)
        return {
            "id": {"testResult": dict(key, label=label)},
            "testResult": {
                "status": status,
                "testActionOutput": [{"name": "test.xml", "uri": "file://" + path}],
            },
        }

    def line(self, events, status=0):
        counts = count_tests.count(events, status)
        return counts.passed, len(counts.failed), len(counts.skipped)

    def test_cases_of_googletest_are_counted(self):
        events = [configured("//a"), self.result("//a", GTEST.format(""))]
        self.assertEqual(self.line(events), (1, 0, 1))

    def test_failures_are_cases_and_not_also_targets(self):
        events = [configured("//a"), self.result("//a", GTEST.format(FAILING), "FAILED")]
        self.assertEqual(self.line(events, 3), (1, 1, 1))

    def test_another_test_is_one_case(self):
        self.assertEqual(self.line([configured("//a"), self.result("//a", BAZELS_OWN)]), (1, 0, 0))

    def test_a_crash_after_good_cases_is_a_failure(self):
        events = [configured("//a"), self.result("//a", GTEST.format(""), "FAILED")]
        self.assertEqual(self.line(events, 3), (1, 1, 1))

    def test_a_timeout_without_report_is_a_failure(self):
        events = [configured("//a"), self.result("//a", "", "TIMEOUT")]
        self.assertEqual(self.line(events, 3), (0, 1, 0))

    def test_a_test_that_does_not_build_is_a_failure(self):
        events = [configured("//a"), configured("//b"), self.result("//a", BAZELS_OWN)]
        self.assertEqual(self.line(events, 1), (1, 1, 0))

    def test_a_target_that_is_no_test_does_not_count(self):
        events = [configured("//lib", "UNKNOWN"), configured("//a"), self.result("//a", BAZELS_OWN)]
        self.assertEqual(self.line(events), (1, 0, 0))

    def test_only_the_last_attempt_counts(self):
        events = [
            configured("//a"),
            self.result("//a", GTEST.format(FAILING), "FAILED", attempt=1),
            self.result("//a", GTEST.format(""), "PASSED", attempt=2),
        ]
        self.assertEqual(self.line(events), (1, 0, 1))

    def test_every_shard_counts(self):
        events = [configured("//a")] + [self.result("//a", GTEST.format(""), shard=s) for s in (1, 2)]
        self.assertEqual(self.line(events), (2, 0, 2))

    def test_bazel_failing_by_itself_is_a_failure(self):
        self.assertEqual(self.line([], 1), (0, 1, 0))
        self.assertEqual(self.line([configured("//a"), self.result("//a", BAZELS_OWN)], 2), (1, 1, 0))

    def test_no_test_at_all_is_a_failure(self):
        self.assertEqual(self.line([], 0), (0, 1, 0))

    def test_a_cut_off_file_of_events_is_read_as_far_as_it_goes(self):
        path = os.path.join(self.folder.name, "events.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write('{"id": {}}\n{"id": {"test')
        self.assertEqual(len(count_tests.read_events(path)), 1)


if __name__ == "__main__":
    source_tree.run_unittests("CountTests", CountTestsTest)
