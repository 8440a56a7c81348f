"""The list of planted bugs fits the sources: each edit is of a text that stands once, and each test is there."""

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


def main():
    report = source_tree.Report("PlantedBugs")
    count = len(plant_bugs.bugs())
    report.case("AreEnough", [] if count >= LEAST_BUGS else ["expected {} bugs, got {}".format(LEAST_BUGS, count)])
    report.case("EachEditFits", edits_that_do_not_fit())
    report.case("EachTestIsThere", tests_that_are_not_there())
    report.case("EachHasItsName", bugs_of_one_name())
    report.case("AStopWaitsForBazel", what_a_stop_leaves_behind())
    report.case("WhatWasCaughtIsKept", what_is_planted_again())
    report.finish()


if __name__ == "__main__":
    main()
