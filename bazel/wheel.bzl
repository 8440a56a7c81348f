"""A Python wheel, pinned by hash, as a source of files: `pip` is the client, nothing is installed.

Where the wheel comes from is pip's business: PIP_INDEX_URL, PIP_FIND_LINKS, proxies and pip's configuration
files work as always, and pip's cache makes the next fetch cheap.
"""

def find_python_with_pip(ctx):
    """The first Python 3 that has pip; fails when there is none.

    Args:
      ctx: of the repository rule that asks.

    Returns:
      The path of the interpreter.
    """
    tried = []
    for candidate in ["/usr/bin/python3", ctx.which("python3")]:
        if not candidate or not ctx.path(candidate).exists:
            continue
        if ctx.execute([candidate, "-m", "pip", "--version"]).return_code == 0:
            return candidate
        tried.append(str(candidate))
    fail("@{}: no Python 3 with pip found (tried: {}). Run ./bazelw, or: apt-get install python3 python3-pip".format(
        ctx.name,
        ", ".join(tried) or "python3 is not in PATH",
    ))

def is_not_the_pinned_one(output):
    """Whether pip has found a file, and refuses it because its bytes are others.

    Args:
      output: what pip said.

    Returns:
      Whether that is the reason.
    """
    return "DO NOT MATCH THE HASHES" in output

def _explain(ctx, requirement, output):
    if is_not_the_pinned_one(output):
        return ("the wheel of {} that pip found is not the pinned one (sha256 {}). If an index or PIP_FIND_LINKS " +
                "of yours serves a rebuilt wheel, point pip at the original, or change the hash in {}").format(
            requirement,
            ctx.attr.sha256,
            "bazel/repositories.bzl",
        )
    return ("pip cannot get {} for {}. Is the network, a proxy or a mirror reachable? Set PIP_INDEX_URL, or put " +
            "the wheel in a folder and set PIP_FIND_LINKS to it, then run the same command again").format(
        requirement,
        " or ".join(ctx.attr.platforms),
    )

def _pinned_wheel_impl(ctx):
    python = find_python_with_pip(ctx)
    unpack = ctx.path(ctx.attr._unpack)
    build_file = ctx.path(ctx.attr.build_file)
    requirement = "{}=={}".format(ctx.attr.package, ctx.attr.version)
    ctx.file("requirements.txt", "{} --hash=sha256:{}\n".format(requirement, ctx.attr.sha256))
    command = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "download",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
        "--implementation=cp",
        "--python-version=" + ctx.attr.python_version,
        "--dest=download",
        "--requirement=requirements.txt",
    ]
    ctx.report_progress("pip download " + requirement)
    result = ctx.execute(command + ["--platform=" + p for p in ctx.attr.platforms], timeout = 1800)
    if result.return_code != 0:
        fail("@{}: {}.\npip said:\n{}{}".format(
            ctx.name,
            _explain(ctx, requirement, result.stdout + result.stderr),
            result.stdout,
            result.stderr,
        ))
    wheels = ctx.path("download").readdir()
    if len(wheels) != 1:
        fail("@{}: expected one wheel of {}, pip left {}".format(ctx.name, requirement, wheels))
    result = ctx.execute(
        [python, unpack, wheels[0]] + (["--gunzip"] if ctx.attr.gunzip else []) + ctx.attr.files,
        timeout = 1800,
    )
    if result.return_code != 0:
        fail("@{}: cannot unpack {}: {}".format(ctx.name, wheels[0].basename, result.stderr))
    ctx.delete("download")
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    ctx.symlink(build_file, "BUILD.bazel")

pinned_wheel = repository_rule(
    implementation = _pinned_wheel_impl,
    attrs = {
        "build_file": attr.label(mandatory = True, doc = "Becomes the BUILD file."),
        "files": attr.string_list(mandatory = True, doc = "PATTERN=FOLDER/ for each group of files to keep."),
        "gunzip": attr.bool(doc = "Whether to put each .gz file beside its contents."),
        "package": attr.string(mandatory = True, doc = "The name that pip knows."),
        "platforms": attr.string_list(
            default = [
                "manylinux_2_28_x86_64",
                "manylinux_2_27_x86_64",
            ],
            doc = "The platform tags that will do.",
        ),
        "python_version": attr.string(default = "3.11", doc = "The Python whose wheel is pinned."),
        "sha256": attr.string(mandatory = True, doc = "Of the wheel."),
        "version": attr.string(mandatory = True, doc = "The exact version."),
        "_unpack": attr.label(default = Label("//bazel:unpack_wheel.py")),
    },
    doc = "Chosen files of a wheel that is pinned by hash.",
)
