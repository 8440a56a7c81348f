"""Plants the bugs of bugs.toml, one at a time, and shows which of them their tests notice.

    ./bazelw run //tests/planted:plant_bugs                          all: some 8 seconds each
    ./bazelw run //tests/planted:plant_bugs -- --only fuse --only runtime
    ./bazelw run //tests/planted:plant_bugs -- --json /tmp/bugs.json --resume

Works in a worktree of its own, of the commit that is checked out: what is not committed is not looked at.
Ends with 0 when at least 95 of 100 were caught, and none failed to compile.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LIST = "tests/planted/bugs.toml"
LEAST_CAUGHT = 0.95

# What Bazel ends with.
ALL_PASSED, DID_NOT_BUILD, TESTS_FAILED = 0, 1, 3


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


def run_test(root, target, log):
    """What Bazel ends with. It has ended when this returns or raises: what it compiles while a file is put back would
    stay in a disk cache as what the bug makes."""
    command = ["./bazelw", "test", "--noshow_progress", "--experimental_guard_against_concurrent_changes", target]
    interrupts = []  # which Bazel gets too, and this program perhaps while it starts Bazel
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    try:
        ended = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt
    return ended.returncode


def plant(bug, root, log):
    """caught, missed or "does not compile"; the file is as it was afterwards."""
    text = planted(bug, root)
    path = os.path.join(root, bug["file"])
    with open(path, encoding="utf-8") as source:
        original = source.read()
    try:
        with open(path, "w", encoding="utf-8") as source:
            source.write(text)
        code = run_test(root, bug["caught"], log)
    finally:
        with open(path, "w", encoding="utf-8") as source:
            source.write(original)
    return {ALL_PASSED: "missed", TESTS_FAILED: "caught"}.get(code, "does not compile")


def caught_before(path):
    """The results of an earlier run that --json has, of bugs that were caught."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as twin:
        return [result for result in json.load(twin)["bugs"] if result["result"] == "caught"]


def write_results(results, path):
    if not path:
        return
    caught = sum(1 for result in results if result["result"] == "caught")
    with open(path, "w", encoding="utf-8") as twin:
        json.dump({"caught": caught, "planted": len(results), "bugs": results}, twin, indent=2)


def report(results):
    caught = sum(1 for result in results if result["result"] == "caught")
    for result in results:
        if result["result"] != "caught":
            print("{result}: {name} ({file}; {caught})".format(**result))
    print("{} of {} bugs caught".format(caught, len(results)))
    compiled = all(result["result"] != "does not compile" for result in results)
    return 0 if results and compiled and caught >= LEAST_CAUGHT * len(results) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="part of a bug's name, file or target")
    parser.add_argument("--json", help="where to write the results as JSON, after each bug")
    parser.add_argument("--resume", action="store_true", help="leave out what --json says was caught")
    parser.add_argument("--list", action="store_true", help="print the bugs, plant none")
    options = parser.parse_args()

    chosen = []
    for bug in bugs():
        words = (bug["name"], bug["file"], bug["caught"])
        if not options.only or any(part in word for part in options.only for word in words):
            chosen.append(bug)
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
