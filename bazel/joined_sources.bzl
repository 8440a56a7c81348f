"""joined_sources: source files of one library or program, several to a translation unit.

Most of the time that a source takes to compile goes into its headers: each translation unit parses them again, and
compiles their inline functions again. clang-tidy (tests/style) reads each source by itself, so each still has to
include what it uses.
"""

# With more, little is saved; and when one of them is edited, all are compiled again.
_MOST_SOURCES = 8

def _parts(files):
    """Splits `files` into the fewest lists of at most _MOST_SOURCES; their lengths differ by one at most."""
    count = (len(files) + _MOST_SOURCES - 1) // _MOST_SOURCES
    return [files[len(files) * i // count:len(files) * (i + 1) // count] for i in range(count)]

def _joined_sources_impl(ctx):
    joined = []
    for i, part in enumerate(_parts(ctx.files.srcs)):
        output = ctx.actions.declare_file("{}/{}.cc".format(ctx.label.name, i + 1))
        commands = ["set -e"]
        for source in part:
            edit = ""
            if ctx.attr.name_namespaces:
                stem = source.basename[:-len(".cc")]
                edit = "s|^namespace {$|namespace %s { namespace {|; s|^}  // namespace$|} }|" % stem

            # Errors, debuggers and __FILE__ name the source.
            commands.append("echo '#line 1 \"%s\"'" % source.path)
            commands.append("sed '%s' '%s'" % (edit, source.path))
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
            doc = "Whether the unnamed namespace of a source is put into one that is named after its file, so that two " +
                  "sources may define the same name. All that a source defines has to be in it.",
        ),
        "srcs": attr.label_list(allow_files = [".cc"], mandatory = True),
    },
    doc = "<name>/1.cc, <name>/2.cc ..., which have the text of `srcs` in this order.",
)
