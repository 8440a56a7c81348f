"""The list of planted bugs fits the sources: each edit is of a text that stands once, and each test is there."""

import os
import sys

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


def main():
    report = source_tree.Report("PlantedBugs")
    count = len(plant_bugs.bugs())
    report.case("AreEnough", [] if count >= LEAST_BUGS else ["expected {} bugs, got {}".format(LEAST_BUGS, count)])
    report.case("EachEditFits", edits_that_do_not_fit())
    report.case("EachTestIsThere", tests_that_are_not_there())
    report.case("EachHasItsName", bugs_of_one_name())
    report.finish()


if __name__ == "__main__":
    main()
