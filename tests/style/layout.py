"""The rules of CONTRIBUTING.md that a file list can show: one test case each."""

import os
import re
import subprocess

import source_tree

LIBRARY = ("dsl", "passes", "backends")

# Headers that need no test of the same stem, each with the reason.
WITHOUT_OWN_TEST = {
    "backends/entry/bind_buffers": "jit_test",
    "backends/entry/check_library": "compile_aot_test",
    "backends/entry/compile_options": "jit_test, compile_aot_test, aot_kernels_test: of a nest that is wrong",
    "backends/halide/emit_uop": "emit_nest_test; jit_test runs it",
    "backends/entry/run_time_sizes": "descriptor_text_test",
    "backends/runtime/packed": "kernel_library_test packs with it, write_kernel_header_test what does not compile",
    "passes/derive/sibling_loops": "derive_siblings_test: what shares a loop, and what not",
    "passes/nest/verify_nest_context": "verify_nest_test, and the tests of the other parts of the verifier",
    "passes/nest/verify_nest_values": "the tests of the three verifiers that walk by it: verify_nest_outputs, _storage and _written",
    "passes/rewrite/literal_of": "match_pattern_test of scalars, fold_constants_test of elements",
    "passes/rewrite/make_replacement": "apply_rules_test, match_pattern_test: every match is replaced and run",
    "passes/rewrite/may_match": "match_pattern_test: what it rules out is not matched",
    "passes/rewrite/working_graph": "apply_rules_test, several_outputs_test: what is replaced, and where it stands",
    "passes/lower/seen_through_reads": "bound_exponents_test, skip_nan_test",
    "passes/lower/tile_grids": "lower_tensorize_test, derive_tiles_test",
    "passes/analyse/uop_program": "uop_list_test walks it, measure_traffic_test sums over it",
    "dsl/reserved_names": "extent_test; hostile_names_test asks the compiler",
    "dsl/version": "generator_test asks a generator, sdk_test the packages",
    "dsl/emulsion": "only includes the headers that a user needs; lesson 01 is its test",
}

# Folders of the library that may include each header of Halide.
HALIDE_HEADERS = {
    "Halide.h": ("backends/halide/",),
    "HalideBuffer.h": ("backends/halide/", "backends/runtime/"),
    "HalideRuntime.h": ("backends/halide/", "backends/runtime/"),
}

# Programs beside the library that include Halide.h, each with the reason.
HALIDE_BESIDE = {
    "benchmarks/peers/halide_blur.cc": "the same schedule in Halide's own words, to compare with",
    "benchmarks/peers/halide_code.h": "what Halide makes of either, to compare",
    "benchmarks/peers/halide_matmul.cc": "the same",
    "benchmarks/peers/halide_memory_bound.cc": "the same",
    "benchmarks/peers/halide_peer.cc": "the same",
    "tests/backends/halide/clamped_terms.h": "writes loads with a clamp, and reads what passes make of them",
    "tests/backends/halide/compile_aot_test.cc": "writes an archive by LLVM's own writer",
    "tests/backends/halide/emitted_items.h": "reads a statement as it is before Halide's passes",
    "tests/backends/halide/evaluate_halide.h": "the same, in numbers",
    "tests/backends/halide/from_halide_test.cc": "programs in Halide's own words beside ours",
    "tests/backends/halide/halide_call_test.cc": "throws Halide's own exceptions",
    "tests/backends/halide/vector_terms.h": "writes what passes over Halide's statements are given",
    "tests/backends/halide/vector_values.h": "reads what passes over Halide's statements make, in numbers",
    "tests/backends/runtime/make_test_kernels.cc": "async and extern stages, which no nest of ours has, meet our hooks",
    "tests/bazel/smoke_test.cc": "uses every library from outside once, so that a broken repository rule shows there",
    "tests/benchmarks/peers/halide_peer_test.cc": "traces a kernel in Halide's own words",
}

MAY_INCLUDE = {
    "dsl": ("dsl",),
    "passes": ("dsl", "passes"),
    "backends": ("dsl", "passes", "backends"),
}

# Belongs to //:emulsion, which is above the layers.
ABOVE_THE_LAYERS = ("dsl/emulsion.h",)

# What the library uses of the headers that are precompiled for it, but not for who uses it: names of std.
STANDARD_NAMES = {
    "algorithm": "adjacent_find all_of any_of copy count_if fill find find_if is_sorted lower_bound max_element min_element "
    "none_of remove_if replace reverse sort stable_sort transform unique upper_bound",
    "functional": "function",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "optional": "nullopt optional",
    "set": "multiset set",
    "string": "string",
    "unordered_map": "unordered_map",
    "vector": "vector",
}

LONG, TOO_LONG = 400, 500

# In two parts each, so that this file passes.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("deb", "debian.org"),
        ("security", "debian.org"),
        ("snapshot", "debian.org"),
        ("registry", "npmjs.org"),
        ("proxy", "golang.org"),
        ("objects", "githubusercontent.com"),
        ("raw", "githubusercontent.com"),
        ("mirror", "bazel.build"),
    )
]

COMMANDS = ("./bazelw run //examples/digits", "./bazelw test //...")

# Files at the top of the tree, besides dot files and folders.
AT_THE_TOP = {"BUILD", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "WORKSPACE", "bazelw"}


def includes(path):
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', source_tree.read(path), re.MULTILINE)


def library_files():
    return source_tree.files(".h", ".cc", folders=LIBRARY)


def without_build_entry():
    for path in library_files():
        package = os.path.dirname(path)
        while package and not os.path.exists(os.path.join(source_tree.ROOT, package, "BUILD")):
            package = os.path.dirname(package)
        if not package:
            yield path + ": no BUILD file above it"
        elif '"{}"'.format(os.path.relpath(path, package)) not in source_tree.read(package + "/BUILD"):
            yield "{}: not named in {}/BUILD".format(path, package)


def tests_without_build_entry():
    """A suite of emulsion_cc_tests is named without its .cc."""
    for path in source_tree.files("_test.cc", "_test.py", "_test.sh", folders=("tests",)):
        package, name = os.path.split(path)
        build = source_tree.read(package + "/BUILD")
        if '"{}"'.format(name) not in build and 'name = "{}"'.format(os.path.splitext(name)[0]) not in build:
            yield "{}: not named in {}/BUILD".format(path, package)


def cases_of_one_name():
    """A suite of emulsion_cc_tests chooses its cases by their names, and would run those of another file too."""
    files = {}
    for path in source_tree.files("_test.cc", folders=("tests",)):
        for case in re.findall(r"^TEST(?:_F)?\((\w+, \w+)\)", source_tree.read(path), re.MULTILINE):
            first = files.setdefault((os.path.dirname(path), case), path)
            if first != path:
                yield "{}: has a case ({}), and so has {}; rename one".format(path, case, first)


def without_test():
    """A .cc without a header of its stem is a part of what another header declares, split by case."""
    tests = source_tree.files("_test.cc", "_test.py", "_test.sh", folders=("tests",))
    for stem in sorted(path[: -len(".h")] for path in library_files() if path.endswith(".h")):
        folder, name = stem.split("/")[0], os.path.basename(stem)
        same = re.compile(r"tests/{}/(.*/)?{}(_\w+)?_test\.\w+$".format(folder, re.escape(name)))
        found = any(same.match(test) for test in tests)
        if not found and stem not in WITHOUT_OWN_TEST:
            yield "{}: no tests/{}/{}_test.cc, and no reason in tests/style/layout.py".format(stem, folder, name)
        if found and stem in WITHOUT_OWN_TEST:
            yield stem + ": has a test now; take its reason out of tests/style/layout.py"


def stale_reasons():
    for stem in WITHOUT_OWN_TEST:
        if not any(os.path.exists(os.path.join(source_tree.ROOT, stem + s)) for s in (".h", ".cc")):
            yield stem + ": is not there any more; take its reason out of tests/style/layout.py"


def too_long():
    for path in source_tree.files(".h", ".cc", ".bzl", ".py", ".sh"):
        lines = source_tree.read(path).count("\n")
        if lines > TOO_LONG:
            yield "{}: {} lines, at most {}: split it by case".format(path, lines, TOO_LONG)
        elif lines > LONG:
            print("note: {}: {} lines, more than {}".format(path, lines, LONG))


def against_the_layers():
    for path in library_files():
        if path in ABOVE_THE_LAYERS:
            continue
        layer = path.split("/")[0]
        for header in includes(path):
            first = header.split("/")[0]
            if first in source_tree.FOLDERS and first not in MAY_INCLUDE[layer]:
                yield "{}: includes {}, and {} may include only {}".format(
                    path, header, layer, ", ".join(MAY_INCLUDE[layer])
                )


def included_by(path, seen):
    """The headers that a file includes, and those that its own headers do: into `seen`."""
    for header in includes(path):
        if header not in seen:
            seen.add(header)
            if header.split("/")[0] in source_tree.FOLDERS and os.path.exists(os.path.join(source_tree.ROOT, header)):
                included_by(header, seen)
    return seen


def without_standard_header():
    for path in library_files():
        code = re.sub(r'//.*|"(\\.|[^"\\\n])*"', "", source_tree.read(path))
        used, there = set(re.findall(r"\bstd::(\w+)", code)), included_by(path, set())
        for header, names in STANDARD_NAMES.items():
            found = sorted(used & set(names.split()))
            if found and header not in there:
                yield "{}: uses std::{} without <{}>, which not every build has precompiled".format(path, found[0], header)


def halide_elsewhere():
    for path in library_files():
        for header in includes(path):
            allowed = HALIDE_HEADERS.get(os.path.basename(header))
            if allowed and not path.startswith(allowed):
                yield "{}: includes {}, which only {} may".format(path, header, " and ".join(allowed))
    beside = {
        path
        for path in source_tree.files(".h", ".cc", folders=("bazel", "benchmarks", "examples", "tests"))
        if "Halide.h" in includes(path)
    }
    for path in sorted(beside - set(HALIDE_BESIDE)):
        yield path + ": includes Halide.h, and has no reason in tests/style/layout.py"
    for path in sorted(set(HALIDE_BESIDE) - beside):
        yield path + ": does not include Halide.h; take its reason out of tests/style/layout.py"


def wrong_guards():
    for path in source_tree.files(".h"):
        guard = "EMULSION_" + re.sub(r"[/.-]", "_", path).upper() + "_"
        text = source_tree.read(path)
        if "#ifndef {0}\n#define {0}\n".format(guard) not in text:
            yield "{}: expected the include guard {}".format(path, guard)


def registry_hosts():
    top = ["README.md", "CONTRIBUTING.md", "WORKSPACE", "BUILD", ".bazelrc", "bazelw", ".clang-tidy"]
    for path in source_tree.files() + [t for t in top if os.path.exists(os.path.join(source_tree.ROOT, t))]:
        try:
            text = source_tree.read(path)
        except UnicodeDecodeError:  # an image, an .npy
            continue
        for host in REGISTRY_HOSTS:
            if host in text:
                yield "{}: names {}; leave the choice of a mirror to pip, apt and npm".format(path, host)


def fenced(path, language):
    """The code blocks of a Markdown file whose language is one of `language`."""
    pattern = r"^```({})\n(.*?)^```".format("|".join(language))
    return [m[1] for m in re.findall(pattern, source_tree.read(path), re.MULTILINE | re.DOTALL)]


def commands_not_in_readme():
    if not os.path.exists(os.path.join(source_tree.ROOT, "README.md")):
        return ["README.md: not there"]
    blocks = "\n".join(fenced("README.md", ("", "sh", "bash", "shell", "console", "text")))
    indented = "\n".join(re.findall(r"^    (.*)$", source_tree.read("README.md"), re.MULTILINE))
    lines = {line.strip().lstrip("$ ").split(" #")[0].strip() for line in (blocks + "\n" + indented).split("\n")}
    missing = ["README.md: no code block has the command: " + c for c in COMMANDS if c not in lines]
    if COMMANDS[1] not in source_tree.read(".ci/run"):
        missing.append(".ci/run: does not run " + COMMANDS[1])
    return missing


def targets_that_are_not_there():
    for path in ("README.md", "CONTRIBUTING.md"):
        if not os.path.exists(os.path.join(source_tree.ROOT, path)):
            continue
        for package in re.findall(r"bazelw? [^\n`]*?//([\w/.-]*\w)(?::[\w.-]+)?", source_tree.read(path)):
            folder = package[: -len("/...")] if package.endswith("/...") else package
            if not os.path.exists(os.path.join(source_tree.ROOT, folder, "BUILD")):
                yield "{}: names //{}, which is no package".format(path, package)


def packages_without_a_version():
    """Debian packages that bazelw installs and of which no document says with which version they were tried."""
    script, tried = source_tree.read("bazelw"), source_tree.read("bazel/README.md")
    packages = re.findall(r"^([a-z][\w.+-]*) +(?:/|cmd:)", script, re.MULTILINE)
    packages += re.findall(r"missing (python3-\w+)\"", script) + ["bazel-bootstrap"]
    if len(packages) < 20:
        yield "bazelw: expected at least 20 packages, got {}".format(len(packages))
    for package in packages:
        if not re.search(r"(?<![\w-]){}\s\d".format(re.escape(package)), tried):
            yield "bazel/README.md: no version of {}, which bazelw installs".format(package)


def code_blocks(path):
    """The blocks of a Markdown file, fenced or indented, in which a line is a statement of C or C++."""
    text = source_tree.read(path)
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"(?:^\n)((?:^    .*\n|^\n(?=    ))+)", text, re.MULTILINE)
    return [block for block in blocks if re.search(r";\s*(//.*|/\*.*)?$", block, re.MULTILINE)]


def only_code(text):
    """Without comments and blanks."""
    return re.sub(r"\s|//.*|/\*.*?\*/", "", text)


def documented_code_that_is_not_compiled():
    """Each block of C++ in a document is in one example or test, line by line and in order."""
    sources = {path: only_code(source_tree.read(path)) for path in source_tree.files(".cc", folders=("examples", "tests"))}
    found = 0
    for path in source_tree.files(".md") + ["README.md", "CONTRIBUTING.md"]:
        for block in code_blocks(path):
            found += 1
            wanted = [line for line in map(only_code, block.splitlines()) if line]
            best = max((lines_in_order(wanted, source) for source in sources.values()), default=0)
            if best < len(wanted):
                yield "{}: no file under examples/ or tests/ has the code; missing from the closest: {}".format(
                    path, wanted[best]
                )
    if found < 10:
        yield "expected at least 10 blocks of C++ in the documents, got {}".format(found)


def lines_in_order(wanted, source):
    """How many of the lines, from the first on, stand in the source in this order."""
    at = 0
    for i, line in enumerate(wanted):
        at = source.find(line, at)
        if at < 0:
            return i
        at += len(line)
    return len(wanted)


def without_floor():
    for path in source_tree.files("/BUILD", ".bzl"):
        for kind, line in re.findall(
            r"^(?:native\.)?(cc|sh)_test\(\n\s*name = (\"\w+\")", source_tree.read(path), re.MULTILINE
        ):
            yield "{0}: {2} is a {1}_test; use emulsion_{1}_test of //bazel:testing.bzl, which has a floor".format(
                path, kind, line
            )


def committed():
    """The files that git knows, or None where it knows none: the tree is no clone, or somebody else's."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=source_tree.ROOT, stdout=subprocess.PIPE)
    return [path for path in listed.stdout.decode().split("\0") if path] if listed.returncode == 0 else None


def committed_by_mistake(paths):
    """What a command left behind: a file at the top that has no place there, or one with nothing in it."""
    for path in paths:
        whole = os.path.join(source_tree.ROOT, path)
        folder, _, name = path.rpartition("/")
        if not folder and not name.startswith(".") and name not in AT_THE_TOP:
            yield "{}: at the top there are {} and folders; is it a leftover?".format(path, ", ".join(sorted(AT_THE_TOP)))
        elif folder and folder.split("/")[0] not in source_tree.FOLDERS:
            yield "{}: expected a folder of {}".format(path, ", ".join(source_tree.FOLDERS))
        if os.path.isfile(whole) and os.path.getsize(whole) == 0:
            yield path + ": is empty; is it a leftover?"


def main():
    report = source_tree.Report("Layout")
    report.case("EveryFileIsInABuildFile", without_build_entry())
    report.case("EveryTestIsInABuildFile", tests_without_build_entry())
    report.case("NoTwoCasesHaveOneName", cases_of_one_name())
    report.case("EveryHeaderHasATestOfItsStem", without_test())
    report.case("EveryReasonIsCurrent", stale_reasons())
    report.case("NoFileIsTooLong", too_long())
    report.case("IncludesGoOneWay", against_the_layers())
    report.case("WhatIsPrecompiledIsIncluded", without_standard_header())
    report.case("HalideStaysInItsBackend", halide_elsewhere())
    report.case("IncludeGuardsFollowThePath", wrong_guards())
    report.case("NoRegistryIsNamed", registry_hosts())
    report.case("ReadmeHasTheCommands", commands_not_in_readme())
    report.case("NamedPackagesAreThere", targets_that_are_not_there())
    report.case("DocumentedCodeIsCompiled", documented_code_that_is_not_compiled())
    report.case("EverySuiteHasAFloor", without_floor())
    report.case("EveryPackageWasTried", packages_without_a_version())
    paths = committed()
    if paths is None:
        report.skip("NothingIsCommittedByMistake", "git lists no files here")
    else:
        report.case("NothingIsCommittedByMistake", committed_by_mistake(paths))
    report.finish()


if __name__ == "__main__":
    main()
