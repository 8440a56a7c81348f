"""Repositories made of what Debian has installed: `bazelw` sees to it that the packages are there."""

def _require(ctx, path):
    found = ctx.path(path)
    if not found.exists:
        fail(("@{repo}: {path} is missing. It belongs to the Debian package '{package}'. Run ./bazelw " +
              "(it installs what is missing, or prints the command), or: apt-get install {package}").format(
            package = ctx.attr.package,
            path = path,
            repo = ctx.name,
        ))
    return found

def _debian_files_impl(ctx):
    for destination, source in ctx.attr.links.items():
        ctx.symlink(_require(ctx, source), destination)
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

debian_files = repository_rule(
    implementation = _debian_files_impl,
    attrs = {
        "build_file": attr.label(mandatory = True, doc = "Becomes the BUILD file."),
        "links": attr.string_dict(doc = "Where in the repository -> installed file or folder."),
        "package": attr.string(mandatory = True, doc = "The Debian package that brings the files."),
    },
    doc = "Installed files under a BUILD file of ours.",
    local = True,
)

def _debian_tree_impl(ctx):
    source = _require(ctx, ctx.attr.path)
    result = ctx.execute(["cp", "-RL", str(source) + "/.", "."])
    if result.return_code != 0:
        fail("@{}: cannot copy {}: {}".format(ctx.name, source, result.stderr))
    for path, lines in ctx.attr.replace.items():
        if not ctx.path(path).exists:
            continue
        text = ctx.read(path)
        for i in range(0, len(lines), 2):
            text = text.replace(lines[i], lines[i + 1])
        ctx.file(path, text, executable = False)

debian_tree = repository_rule(
    implementation = _debian_tree_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "The Debian package that brings the files."),
        "path": attr.string(mandatory = True, doc = "The installed folder, a workspace by itself."),
        "replace": attr.string_list_dict(doc = "File -> [old, new, old, new, ...]."),
    },
    doc = "A copy of an installed Bazel workspace, with replacements in some of its files.",
    local = True,
)
