"""Every .h and .cc is as clang-format leaves it. tests/style/fix.sh mends it."""

import subprocess

import source_tree


def main():
    report = source_tree.Report("ClangFormat")
    for suffix in (".h", ".cc"):
        paths = source_tree.files(suffix)
        command = ["clang-format", "--dry-run", "-Werror", "--ferror-limit=1"] + paths
        run = subprocess.run(command, cwd=source_tree.ROOT, stderr=subprocess.PIPE, text=True, check=False)
        problems = [line for line in run.stderr.splitlines() if "error:" in line]
        if run.returncode and not problems:
            problems = [run.stderr.strip() or "clang-format ended with {}".format(run.returncode)]
        report.case("Formats" + suffix[1:].capitalize(), problems if paths else ["no file found"])
    report.finish()


if __name__ == "__main__":
    main()
