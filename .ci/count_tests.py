"""Counts the test cases of one `bazel test` from its build events.

Usage: count_tests.py EVENTS_JSON EXIT_STATUS_OF_BAZEL

Prints what failed, then `N passed, N failed[, N skipped]`; ends with 1 when anything failed, Bazel included.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree


class Counts:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []


def read_events(path):
    events = []
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                events.append(json.loads(line))
            except ValueError:  # the last line of a run that was killed
                pass
    return events


def is_test(event):
    return event.get("configured", {}).get("testSize", "UNKNOWN") != "UNKNOWN"


def last_attempts(events):
    """Test label -> the result of the last attempt of each run and shard."""
    results = {}
    for event in events:
        key = event.get("id", {}).get("testResult")
        if key and "testResult" in event:
            runs = results.setdefault(key["label"], {})
            run = (key.get("run", 1), key.get("shard", 1))
            attempt = key.get("attempt", 1)
            if run not in runs or attempt >= runs[run][0]:
                runs[run] = (attempt, event["testResult"])
    return {label: [result for _, result in runs.values()] for label, runs in results.items()}


def xml_cases(result):
    """(name, "passed" | "failed" | "skipped") of each case of a GoogleTest report; nothing for other tests."""
    for output in result.get("testActionOutput", []):
        if output.get("name") != "test.xml":
            continue
        path = urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path)
        try:
            root = xml.etree.ElementTree.parse(path).getroot()
        except (OSError, xml.etree.ElementTree.ParseError):
            continue
        for case in root.iter("testcase"):
            if "classname" not in case.attrib:  # Bazel's own report on a test that writes none
                continue
            name = case.get("classname") + "." + case.get("name", "")
            if case.get("status") == "notrun":  # disabled, or left out by a filter
                continue
            if case.find("failure") is not None or case.find("error") is not None:
                yield name, "failed"
            elif case.get("result") == "skipped" or case.find("skipped") is not None:
                yield name, "skipped"
            else:
                yield name, "passed"


def count_result(counts, label, result):
    ok = result.get("status") in ("PASSED", "FLAKY")
    cases = list(xml_cases(result))
    for name, outcome in cases:
        if outcome == "passed":
            counts.passed += 1
        else:
            getattr(counts, outcome).append(label + " " + name)
    if not cases and ok:
        counts.passed += 1
    if not ok and not any(outcome == "failed" for _, outcome in cases):
        counts.failed.append("{} ({})".format(label, result.get("status", "no status")))


def count(events, status):
    counts = Counts()
    results = last_attempts(events)
    for label, runs in results.items():
        for result in runs:
            count_result(counts, label, result)
    tests = {e["id"]["targetConfigured"]["label"] for e in events if is_test(e)}
    for label in sorted(tests - set(results)):
        counts.failed.append(label + " (did not build or run)")
    if status != 0 and not counts.failed:
        counts.failed.append("bazel itself, exit status {}".format(status))
    if not counts.passed and not counts.failed:
        counts.failed.append("no test ran")
    return counts


def main(argv):
    counts = count(read_events(argv[1]), int(argv[2]))
    for name in counts.failed:
        print("FAILED: " + name)
    for name in counts.skipped:
        print("skipped: " + name)
    line = "{} passed, {} failed".format(counts.passed, len(counts.failed))
    if counts.skipped:
        line += ", {} skipped".format(len(counts.skipped))
    print(line, flush=True)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
