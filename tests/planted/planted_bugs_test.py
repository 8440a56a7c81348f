"""The list of planted bugs fits the sources: each edit is of a text that stands once, and each test is there."""

import contextlib
import io
import json
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "style"))

import plant_bugs  # noqa: E402
import source_tree  # noqa: E402

LEAST_BUGS = 80


def edits_that_do_not_fit():
    for bug in plant_bugs.bugs():
        try:
            if plant_bugs.planted(bug, source_tree.ROOT) == source_tree.read(bug["file"]):
                yield "{}: changes nothing".format(bug["name"])
        except (OSError, ValueError) as error:
            yield "{}: {}".format(bug["name"], error)


def tests_that_are_not_there():
    for bug in plant_bugs.bugs():
        package, name = bug["caught"][len("//") :].split(":")
        if 'name = "{}"'.format(name) not in source_tree.read(package + "/BUILD"):
            yield "{}: no test {}".format(bug["name"], bug["caught"])


def bugs_of_one_name():
    names = [bug["name"] for bug in plant_bugs.bugs()]
    return sorted({name for name in names if names.count(name) > 1})


def what_a_stop_leaves_behind():
    """Ctrl-C ends this program no sooner than Bazel, which gets it too and needs a while."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as root, open(os.devnull, "w", encoding="utf-8") as log:
        bazelw = os.path.join(root, "bazelw")
        with open(bazelw, "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\ntrap '' INT\nkill -INT $PPID\nsleep 1\ntouch ended\n")
        os.chmod(bazelw, 0o755)
        try:
            plant_bugs.run_test(root, "//a:test", log)
            yield "it goes on"
        except KeyboardInterrupt:
            if not os.path.exists(os.path.join(root, "ended")):
                yield "Bazel compiles what is put back"


def what_is_planted_again():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bugs.json")
        if plant_bugs.caught_before(path):
            yield "results of a run that was not"
        results = [{"name": "a", "result": "caught"}, {"name": "b", "result": "missed"}]
        plant_bugs.write_results(results, path)
        if plant_bugs.caught_before(path) != results[:1]:
            yield "expected what was caught before, got {}".format(plant_bugs.caught_before(path))


def test_result(folder, status, cases=None):
    """An event of Bazel's; `cases`: of the report that the test has written, if it did."""
    report = os.path.join(folder, "{}.xml".format(len(os.listdir(folder))))
    with open(report, "w", encoding="utf-8") as out:
        out.write("<testsuites><testsuite>{}</testsuite></testsuites>".format(cases or '<testcase name="a"/>'))
    output = {"name": "test.xml", "uri": "file://" + report}
    key = {"label": "//a:test", "shard": len(os.listdir(folder))}
    return {"id": {"testResult": key}, "testResult": {"status": status, "testActionOutput": [output]}}


def outcomes_that_are_wrong():
    """Only a case that fails catches a bug; a test that ran out of time did not."""
    passed = '<testcase classname="A" name="B"/>'
    failed = '<testcase classname="A" name="B"><failure/></testcase>'
    with tempfile.TemporaryDirectory() as folder:

        def result(status, cases=None):
            return test_result(folder, status, cases)

        outcomes = (
            ("caught", 3, [result("FAILED", failed)]),
            ("caught", 3, [result("TIMEOUT"), result("FAILED", failed)]),
            ("crashed", 3, [result("FAILED")]),
            ("crashed", 3, [result("FAILED", passed)]),
            ("timed out", 3, [result("TIMEOUT")]),
            ("timed out", 3, [result("PASSED", passed), result("TIMEOUT")]),
            ("missed", 0, [result("PASSED", passed)]),
            ("did not build", 1, []),
            ("did not build", 3, [result("FAILED_TO_BUILD")]),
            ("did not build", 3, []),
        )
        for expected, code, events in outcomes:
            got = plant_bugs.outcome(code, events)
            if got != expected:
                yield "expected {} of {} with {}, got {}".format(expected, code, events, got)


def what_bazel_says():
    """The file of a bug is as it was, and what comes of it is what Bazel's events say, in the twin too."""
    with tempfile.TemporaryDirectory() as root, open(os.devnull, "w", encoding="utf-8") as log:
        event = os.path.join(root, "event.json")
        with open(event, "w", encoding="utf-8") as out:
            json.dump(test_result(tempfile.mkdtemp(dir=root), "TIMEOUT"), out)
        bazelw = os.path.join(root, "bazelw")
        with open(bazelw, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\nfor a; do case $a in --build_event_json_file=*) cp event.json "${a#*=}" ;; esac; done\n')
            script.write("grep -q bug a.cc && exit 3\n")
        os.chmod(bazelw, 0o755)
        with open(os.path.join(root, "a.cc"), "w", encoding="utf-8") as source:
            source.write("good")
        bug = {"name": "a", "file": "a.cc", "edit": ["good", "bug"], "caught": "//a:test"}
        got = plant_bugs.plant(bug, root, log)
        if got != "timed out":
            yield "expected timed out, got {}".format(got)
        with open(os.path.join(root, "a.cc"), encoding="utf-8") as source:
            if source.read() != "good":
                yield "the bug stays"
        twin = os.path.join(root, "bugs.json")
        plant_bugs.write_results([dict(bug, result=got)], twin)
        with open(twin, encoding="utf-8") as text:
            written = json.load(text)
        if (written["timed out"], written["caught"], written["planted"]) != (1, 0, 1):
            yield "expected one that timed out, got {}".format(written)


def samples_that_are_none():
    """A sample is part of the list, the same for the same seed, and stays one when the list grows."""
    bugs = plant_bugs.bugs()
    drawn = plant_bugs.sample(bugs, 40, 7)
    if len(drawn) != 40 or any(bug not in bugs for bug in drawn) or len({bug["name"] for bug in drawn}) != 40:
        yield "expected 40 bugs of the list, got {}".format([bug["name"] for bug in drawn])
    if plant_bugs.sample(bugs, 20, 7) != drawn[:20]:
        yield "a smaller sample is no part of a larger one"
    if plant_bugs.sample(list(reversed(bugs)), 40, 7) != drawn:
        yield "the order of the list matters"
    added = {"name": "a new one"}
    if [bug for bug in plant_bugs.sample(bugs + [added], len(bugs) + 1, 7) if bug != added][:40] != drawn:
        yield "a new bug draws others"
    if plant_bugs.sample(bugs, 40, 8) == drawn:
        yield "another seed draws the same"
    if len(plant_bugs.sample(bugs, len(bugs) + 1, 7)) != len(bugs):
        yield "a sample of more than there are is not all of them"
    parts = {bugs.index(bug) * 4 // len(bugs) for bug in drawn}
    if parts != {0, 1, 2, 3}:
        yield "expected bugs of every part of the list, got those of quarters {}".format(sorted(parts))


def reports_that_are_wrong():
    """What a run ends with: its count of each kind, and 1 where too few were noticed or one did not build."""
    kinds = {"c": "caught", "k": "crashed", "t": "timed out", "m": "missed", "d": "did not build"}
    none = {kind: 0 for kind in kinds.values()}
    cases = (
        ("c" * 19 + "m", 0, {"caught": 19, "missed": 1}),
        ("c" * 18 + "km", 0, {"caught": 18, "crashed": 1, "missed": 1}),
        ("c" * 18 + "m", 1, {"caught": 18, "missed": 1}),
        ("c" * 18 + "tm", 1, {"caught": 18, "timed out": 1, "missed": 1}),
        ("c" * 99 + "d", 1, {"caught": 99, "did not build": 1}),
        ("", 1, {}),
    )
    for letters, code, counts in cases:
        words = ("{} {}".format(number, kind) for kind, number in dict(none, **counts).items())
        last_line = "{} bugs planted: {}".format(len(letters), ", ".join(words))
        results = [
            {"name": "bug {}".format(i), "file": "a.cc", "caught": "//a:test", "result": kinds[letter]}
            for i, letter in enumerate(letters)
        ]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            got = plant_bugs.report(results)
        lines = printed.getvalue().splitlines()
        if got != code or lines[-1] != last_line:
            yield 'expected {} and "{}", got {} and "{}"'.format(code, last_line, got, lines[-1])
        if len(lines) - 1 != len(letters) - letters.count("c"):
            yield "expected a line for each that was not caught, got {}".format(lines)


def main():
    report = source_tree.Report("PlantedBugs")
    count = len(plant_bugs.bugs())
    report.case("AreEnough", [] if count >= LEAST_BUGS else ["expected {} bugs, got {}".format(LEAST_BUGS, count)])
    report.case("EachEditFits", edits_that_do_not_fit())
    report.case("EachTestIsThere", tests_that_are_not_there())
    report.case("EachHasItsName", bugs_of_one_name())
    report.case("AStopWaitsForBazel", what_a_stop_leaves_behind())
    report.case("ATimeoutCatchesNothing", outcomes_that_are_wrong())
    report.case("ABugIsPlantedAndTakenAway", what_bazel_says())
    report.case("WhatWasCaughtIsKept", what_is_planted_again())
    report.case("ASampleIsDrawn", samples_that_are_none())
    report.case("TheEndSaysHowMany", reports_that_are_wrong())
    report.finish()


if __name__ == "__main__":
    main()
