"""A tool from an npm package, for checks that can be skipped: without npm the repository is still there.

`@<name>//:tool_if_any` is the tool, or an empty group; `@<name>//:status` is a file with `ready` or the reason why not.
"""

# Compares the tarball with the pinned integrity and prints nothing when they agree.
_CHECK = """
import base64, hashlib, sys
digest = "sha512-" + base64.b64encode(hashlib.sha512(open(sys.argv[1], "rb").read()).digest()).decode()
if digest != sys.argv[2]:
    sys.exit("integrity is " + digest + ", expected " + sys.argv[2])
"""

def _fetch(ctx):
    """Returns why the tool cannot be had, or None."""
    npm = ctx.which("npm")
    python = ctx.which("python3")
    if not npm or not python:
        return "npm is not installed (it would bring {} {})".format(ctx.attr.package, ctx.attr.version)
    spec = "{}@{}".format(ctx.attr.package, ctx.attr.version)
    result = ctx.execute([npm, "pack", "--silent", spec], timeout = 600)
    if result.return_code != 0:
        return "npm cannot get {}: {}".format(spec, result.stderr.strip())
    archive = result.stdout.strip().split("\n")[-1]
    result = ctx.execute([python, "-c", _CHECK, archive, ctx.attr.integrity])
    if result.return_code != 0:
        fail("@{}: npm's archive of {} is not the pinned one: {}".format(ctx.name, spec, result.stderr))
    ctx.extract(archive, "unpacked")
    ctx.symlink("unpacked/" + ctx.attr.file, "tool")
    ctx.delete(archive)
    return None

def _npm_tool_impl(ctx):
    reason = _fetch(ctx)
    ctx.file("status", (reason or "ready") + "\n", executable = False)
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    ctx.file("BUILD.bazel", """package(default_visibility = ["//visibility:public"])

exports_files(["status"])

filegroup(
    name = "tool_if_any",
    srcs = glob(["tool"]),
)
""")

npm_tool = repository_rule(
    implementation = _npm_tool_impl,
    attrs = {
        "file": attr.string(mandatory = True, doc = "The executable inside the archive."),
        "integrity": attr.string(mandatory = True, doc = "sha512, as npm writes it."),
        "package": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
    },
    doc = "One executable of an npm package that is pinned by its integrity.",
)
