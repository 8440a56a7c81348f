"""Plants the bugs of bugs.toml, one at a time, and shows which of them their tests notice.

    ./bazelw run //tests/planted:plant_bugs                          all of them
    ./bazelw run //tests/planted:plant_bugs -- --only fuse --only runtime
    ./bazelw run //tests/planted:plant_bugs -- --sample 80 --seed 7  80 of them, drawn at random
    ./bazelw run //tests/planted:plant_bugs -- --json /tmp/bugs.json --resume

Works in a worktree of its own, of the commit that is checked out: what is not committed is not looked at.
A larger sample of the same seed has the smaller one in it, and goes on where that ended (--json, --resume).
A bug is caught when a case of its test fails. A test that ends before it can name one (a signal, a sanitizer's report)
has crashed, which its log has to explain. One that runs out of time has noticed nothing: perhaps the machine was busy.
Ends with how many there were of each, and with 0 when at least 95 of 100 were caught or crashed, and all built.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, ".ci"))

import count_tests  # noqa: E402

LIST = "tests/planted/bugs.toml"
LEAST_CAUGHT = 0.95

CAUGHT, CRASHED, TIMED_OUT, MISSED, DID_NOT_BUILD = "caught", "crashed", "timed out", "missed", "did not build"
KINDS = (CAUGHT, CRASHED, TIMED_OUT, MISSED, DID_NOT_BUILD)

# What Bazel ends with.
ALL_PASSED, TESTS_FAILED = 0, 3


def bugs(root=ROOT):
    with open(os.path.join(root, LIST), "rb") as text:
        return tomllib.load(text)["bug"]


def planted(bug, root):
    """The text of the bug's file with the bug in it. ValueError: the edit does not fit."""
    before, after = bug["edit"]
    with open(os.path.join(root, bug["file"]), encoding="utf-8") as source:
        text = source.read()
    if text.count(before) != 1:
        raise ValueError(
            '{}: "{}": expected once in {}, got {} times'.format(LIST, before, bug["file"], text.count(before))
        )
    return text.replace(before, after)


def worktree():
    """A checkout of HEAD that stays from run to run, so that little is built anew."""
    path = os.path.join(os.path.expanduser("~/.cache/emulsion-planted"), ROOT.strip("/").replace("/", "_"))

    def git(folder, *arguments):
        subprocess.run(["git", "-C", folder] + list(arguments), check=True, stdout=subprocess.DEVNULL)

    if not os.path.isdir(path):
        git(ROOT, "worktree", "prune")
        git(ROOT, "worktree", "add", "--quiet", "--detach", path)
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE, text=True)
    git(path, "reset", "--quiet", "--hard", head.stdout.strip())
    return path


def run_test(root, target, log, events=os.devnull):
    """What Bazel ends with; its build events go to a file. It has ended when this returns or raises: what it compiles
    while a file is put back would stay in a disk cache as what the bug makes."""
    command = ["./bazelw", "test", "--noshow_progress", "--experimental_guard_against_concurrent_changes"]
    command += ["--build_event_json_file=" + events, target]
    interrupts = []  # which Bazel gets too, and this program perhaps while it starts Bazel
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    try:
        ended = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt
    return ended.returncode


def outcome(code, events):
    """Which of KINDS, by what Bazel ends with and its build events."""
    if code == ALL_PASSED:
        return MISSED
    if code != TESTS_FAILED:
        return DID_NOT_BUILD
    results = [result for runs in count_tests.last_attempts(events).values() for result in runs]
    if any(case == "failed" for result in results for _, case in count_tests.xml_cases(result)):
        return CAUGHT
    statuses = {result.get("status") for result in results}
    return CRASHED if "FAILED" in statuses else TIMED_OUT if "TIMEOUT" in statuses else DID_NOT_BUILD


def plant(bug, root, log):
    """Which of KINDS; the file is as it was afterwards."""
    text = planted(bug, root)
    path = os.path.join(root, bug["file"])
    with open(path, encoding="utf-8") as source:
        original = source.read()
    try:
        with open(path, "w", encoding="utf-8") as source:
            source.write(text)
        with tempfile.NamedTemporaryFile(suffix=".json") as events:
            code = run_test(root, bug["caught"], log, events.name)
            return outcome(code, count_tests.read_events(events.name))
    finally:
        with open(path, "w", encoding="utf-8") as source:
            source.write(original)


def caught_before(path):
    """The results of an earlier run that --json has, of bugs that were caught."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as twin:
        return [result for result in json.load(twin)["bugs"] if result["result"] == CAUGHT]


def count(results, kind):
    return sum(1 for result in results if result["result"] == kind)


def write_results(results, path):
    if not path:
        return
    with open(path, "w", encoding="utf-8") as twin:
        counts = {kind: count(results, kind) for kind in KINDS}
        json.dump(dict(counts, planted=len(results), bugs=results), twin, indent=2)


def report(results):
    for result in results:
        if result["result"] != CAUGHT:
            print("{result}: {name} ({file}; {caught})".format(**result))
    kinds = ", ".join("{} {}".format(count(results, kind), kind) for kind in KINDS)
    print("{} bugs planted: {}".format(len(results), kinds))
    enough = count(results, CAUGHT) + count(results, CRASHED) >= LEAST_CAUGHT * len(results)
    return 0 if results and enough and count(results, DID_NOT_BUILD) == 0 else 1


def sample(bugs_of_list, size, seed):
    """`size` of them, drawn at random. The same of one seed, whatever comes to the list: a bug's place among the drawn
    is that of its name's hash."""

    def place(bug):
        return hashlib.sha256("{} {}".format(seed, bug["name"]).encode()).digest()

    return sorted(bugs_of_list, key=place)[:size]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="part of a bug's name, file or target")
    parser.add_argument("--sample", type=int, metavar="N", help="no more than N of these, drawn at random")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which N; left out, 1")
    parser.add_argument("--json", help="where to write the results as JSON, after each bug")
    parser.add_argument("--resume", action="store_true", help="leave out what --json says was caught")
    parser.add_argument("--list", action="store_true", help="print the bugs, plant none")
    options = parser.parse_args()

    chosen = []
    for bug in bugs():
        words = (bug["name"], bug["file"], bug["caught"])
        if not options.only or any(part in word for part in options.only for word in words):
            chosen.append(bug)
    if options.sample is not None:
        chosen = sample(chosen, options.sample, options.seed)
    if options.list or not chosen:
        for bug in chosen:
            print("{file}: {name}".format(**bug))
        return 0 if chosen else "no bug of {} has {} in its name, file or target".format(LIST, options.only)

    root = worktree()
    results = caught_before(options.json) if options.resume else []
    done = [{key: value for key, value in result.items() if key != "result"} for result in results]
    chosen = [bug for bug in chosen if bug not in done]
    with open(os.path.join(root, "planted.log"), "w", encoding="utf-8") as log:
        print("what Bazel says goes to {}".format(log.name), flush=True)
        try:
            for i, bug in enumerate(chosen):
                result = plant(bug, root, log)
                results.append(dict(bug, result=result))
                write_results(results, options.json)
                print("[{}/{}] {}: {}".format(i + 1, len(chosen), result, bug["name"]), flush=True)
        except KeyboardInterrupt:
            print("stopped; so far:", flush=True)
    return report(results)


if __name__ == "__main__":
    sys.exit(main())
