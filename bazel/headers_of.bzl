"""headers_of: the headers that a library and all it needs bring, as files."""

def _headers_of_impl(ctx):
    headers = depset(transitive = [
        dep[CcInfo].compilation_context.headers
        for dep in ctx.attr.deps
    ])
    return [DefaultInfo(files = headers, runfiles = ctx.runfiles(transitive_files = headers))]

headers_of = rule(
    implementation = _headers_of_impl,
    attrs = {"deps": attr.label_list(mandatory = True, providers = [CcInfo])},
    doc = "For what compiles against a library without Bazel: a test that runs a compiler, the SDK.",
)
