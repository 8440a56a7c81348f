"""clang-tidy over dsl, passes and backends.

Usage: clang_tidy.py PATH/TO/clang-tidy PATH/TO/Halide.h [--fix]

With --fix it mends what clang-tidy can mend by itself, one file after another (tests/style/fix.sh --tidy).
A file that passed is not looked at again until it, a header of ours that it includes, the settings or clang-tidy
change; what passed is remembered by hash in the machine's folder for temporary files.
"""

import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys
import tempfile

import source_tree

FOLDERS = ("dsl", "passes", "backends")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

# What most of the files include. clang parses it once, as a module, and not once for each file. A longer list is slower:
# clang-tidy preprocesses all of a module again for each file.
SHARED = (
    "algorithm",
    "cstddef",
    "cstdint",
    "cstring",
    "functional",
    "limits",
    "map",
    "memory",
    "optional",
    "set",
    "string",
    "string_view",
    "unordered_map",
    "unordered_set",
    "utility",
    "vector",
)


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def omp_for_clang(folder):
    """Puts g++'s omp.h, the one of the build, into `folder` as clang can read it: with plain malloc attributes."""
    with open(output_of("g++", "-print-file-name=include/omp.h"), encoding="utf-8") as header:
        text = re.sub(r"__malloc__ ?\([^()]*\)", "__malloc__", header.read())
    with open(os.path.join(folder, "omp.h"), "w", encoding="utf-8") as out:
        out.write(text)


def write_shared_module(folder):
    """A header that includes SHARED, and the map that makes a module of it."""
    with open(os.path.join(folder, "shared.h"), "w", encoding="utf-8") as out:
        out.write("#pragma once\n" + "".join("#include <{}>\n".format(name) for name in SHARED))
    with open(os.path.join(folder, "shared.modulemap"), "w", encoding="utf-8") as out:
        out.write('module shared [system] { header "shared.h" export * }\n')


def flags(halide, folder):
    return [
        "-std=c++17",
        "-I" + source_tree.ROOT,
        "-fopenmp",
        "-isystem",
        os.path.dirname(os.path.realpath(halide)),
        "-idirafter",
        folder,
        "-fmodules",
        "-fmodules-cache-path=" + folder,
        "-fmodule-map-file=" + os.path.join(folder, "shared.modulemap"),
        "-include",
        os.path.join(folder, "shared.h"),
    ]


def with_headers(path, seen):
    """Adds `path` and every header of ours that it includes to `seen`."""
    if path not in seen and os.path.exists(os.path.join(source_tree.ROOT, path)):
        seen[path] = source_tree.read(path)
        for header in INCLUDE.findall(seen[path]):
            with_headers(header, seen)
    return seen


def passed_folder():
    """Where hashes are kept, or None when somebody else owns the place."""
    path = os.path.join(tempfile.gettempdir(), "emulsion_clang_tidy_{}".format(os.getuid()))
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path if os.lstat(path).st_uid == os.getuid() else None


def check(tool, path, compiler_flags, settings, fix):
    digest = hashlib.sha256(settings)
    for name, text in sorted(with_headers(path, {}).items()):
        digest.update("{}\0{}\0".format(name, text).encode())
    folder = passed_folder()
    mark = folder and os.path.join(folder, digest.hexdigest())
    if mark and os.path.exists(mark):
        return []
    command = [tool, "--quiet"] + (["--fix"] if fix else [])
    command += [os.path.join(source_tree.ROOT, path), "--"] + compiler_flags
    run = subprocess.run(
        command, cwd=source_tree.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
    )
    problems = [
        line.replace(source_tree.ROOT + "/", "") for line in run.stdout.splitlines() if ": error: " in line
    ]
    if run.returncode and not problems:
        problems = ["{}: {}".format(path, (run.stdout + run.stderr).strip())]
    if mark and not problems:
        with open(mark, "w", encoding="utf-8"):
            pass
    return problems


def main():
    tool, halide, fix = os.path.realpath(sys.argv[1]), sys.argv[2], "--fix" in sys.argv[3:]
    settings = hashlib.sha256()
    for part in (source_tree.read(".clang-tidy"), output_of(tool, "--version"), str(flags("", "")), str(SHARED)):
        settings.update(part.replace(source_tree.ROOT, "").encode())
    with open(halide, "rb") as header:  # stands for all headers of its wheel
        settings.update(header.read())
    report = source_tree.Report("ClangTidy")
    with tempfile.TemporaryDirectory() as folder_for_clang:
        omp_for_clang(folder_for_clang)
        write_shared_module(folder_for_clang)
        compiler_flags = flags(halide, folder_for_clang)
        with concurrent.futures.ThreadPoolExecutor(1 if fix else os.cpu_count()) as pool:
            for folder in FOLDERS:
                paths = source_tree.files(".cc", folders=(folder,))
                found = pool.map(lambda p: check(tool, p, compiler_flags, settings.digest(), fix), paths)
                problems = sorted({line for lines in found for line in lines})
                report.case(folder.capitalize(), problems if paths else ["no file found"])
    report.finish()


if __name__ == "__main__":
    main()
