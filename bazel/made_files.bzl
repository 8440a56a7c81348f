"""made_files: what a genrule with a tool makes, with the tool built as everything else is.

A genrule builds its tools a second time, for the machine that builds; a tool that contains the compiler would
bring the DSL, the passes and the backends with it.
"""

def _made_files_impl(ctx):
    folder = "{}/{}".format(ctx.bin_dir.path, ctx.label.package)
    ctx.actions.run(
        arguments = [argument.format(folder = folder) for argument in ctx.attr.arguments],
        executable = ctx.executable.tool,
        mnemonic = "MadeFiles",
        outputs = ctx.outputs.outs,
        progress_message = "Making the files of %s" % ctx.label,
    )
    return [DefaultInfo(files = depset(ctx.outputs.outs))]

made_files = rule(
    implementation = _made_files_impl,
    attrs = {
        "arguments": attr.string_list(doc = "For the tool; {folder} is where it has to write."),
        "outs": attr.output_list(mandatory = True, doc = "What the tool writes, in this package."),
        "tool": attr.label(cfg = "target", executable = True, mandatory = True),
    },
    doc = "Runs a program of this repository to make files.",
)
