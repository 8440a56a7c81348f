"""Python packages, each pinned by hash, as one folder to put in front of sys.path: `pip` is the client.

For test oracles and peers that nothing is built of. So it is no failure when they are not to be had: why_not.txt
says why, and is empty when they are. Whoever uses them skips what needs them, by that reason. Packages that are there
and are not the pinned ones are a failure.
"""

load(":wheel.bzl", "find_python_with_pip", "is_not_the_pinned_one")

_BUILD = """package(default_visibility = ["//visibility:public"])

exports_files(["why_not.txt"])

# A folder, since a file for each of thousands would cost more than they are worth.
filegroup(
    name = "packages",
    srcs = ["site"],
)
"""

def _install(ctx):
    python = find_python_with_pip(ctx)
    version = ctx.execute([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).stdout.strip()
    if version != ctx.attr.python_version:
        return "needs Python {}, and {} is {}".format(ctx.attr.python_version, python, version)
    ctx.report_progress("pip install " + ctx.name)
    result = ctx.execute([
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--require-hashes",
        "--only-binary=:all:",
        "--target=site",
        "--requirement=requirements.txt",
    ], timeout = 1800)
    if is_not_the_pinned_one(result.stdout + result.stderr):
        fail("@{}: a wheel that pip found is not the pinned one:\n{}".format(ctx.name, result.stderr))
    if result.return_code != 0:
        return "pip cannot get {}: {}".format(", ".join(ctx.attr.hashes.keys()), result.stderr.strip()[-300:])
    return ""

def _python_packages_impl(ctx):
    ctx.file("requirements.txt", "".join([
        "{} --hash=sha256:{}\n".format(package, sha256)
        for package, sha256 in ctx.attr.hashes.items()
    ]))
    why_not = _install(ctx)
    ctx.file("why_not.txt", why_not.replace("\n", " "))
    ctx.file("site/README", "Python packages of {}.\n".format(ctx.name))
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    ctx.file("BUILD.bazel", _BUILD)

python_packages = repository_rule(
    implementation = _python_packages_impl,
    attrs = {
        "hashes": attr.string_dict(mandatory = True, doc = "package==version: sha256 of its wheel."),
        "python_version": attr.string(default = "3.11", doc = "The Python whose wheels are pinned."),
    },
    doc = "Python packages that are pinned by hash, or the reason why they are not here.",
)
