"""joined_sources: source files of one library or program, several to a translation unit.

A source of this repository spends most of its compilation on what its headers bring: they are parsed and their inline
functions compiled for each translation unit again. Eight sources as one take about half of the time of eight.
clang-tidy (tests/style) reads each source by itself, so it still has to include what it uses.
"""

# More save little, and all of them are compiled again when one is edited.
_MOST_SOURCES = 8

def _parts(files):
    """`files` in as few lists of at most _MOST_SOURCES as there can be, of the same length but for one file."""
    count = (len(files) + _MOST_SOURCES - 1) // _MOST_SOURCES
    return [files[len(files) * i // count:len(files) * (i + 1) // count] for i in range(count)]

def _joined_sources_impl(ctx):
    joined = []
    for i, part in enumerate(_parts(ctx.files.srcs)):
        output = ctx.actions.declare_file("{}/{}.cc".format(ctx.label.name, i + 1))
        commands = ["set -e"]
        for source in part:
            # Errors, debuggers and __FILE__ speak of the source.
            commands.append("echo '#line 1 \"{}\"'".format(source.path))
            stem = source.basename[:-len("." + source.extension)]
            commands.append("sed {} '{}'".format(
                "-e 's/^namespace {{$/namespace {stem} {{ namespace {{/' -e 's/^}}  \\/\\/ namespace$/}} }}/'".format(
                    stem = stem,
                ) if ctx.attr.name_namespaces else "''",
                source.path,
            ))
        ctx.actions.run_shell(
            command = "{{\n{}\n}} >'{}'\n".format("\n".join(commands), output.path),
            inputs = part,
            mnemonic = "JoinSources",
            outputs = [output],
            progress_message = "Joining %s" % ctx.label,
        )
        joined.append(output)
    return DefaultInfo(files = depset(joined))

joined_sources = rule(
    implementation = _joined_sources_impl,
    attrs = {
        "name_namespaces": attr.bool(
            doc = "Whether an unnamed namespace is put into one that is named after its file, so that its names may " +
                  "be those of another file. Only for sources that have everything in it.",
        ),
        "srcs": attr.label_list(allow_files = [".cc"], mandatory = True),
    },
    doc = "<name>/1.cc, <name>/2.cc ..., which have the text of `srcs` in this order.",
)
