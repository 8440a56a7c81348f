"""launch: the script that is the executable of a rule which runs another target's program."""

def launch(ctx, target, script, data = []):
    """A script that starts the program of `target`, and what both need.

    Args:
      ctx: of the rule.
      target: with an executable.
      script: its text, in which {program} is the program's path.
      data: more files that are there when it runs.

    Returns:
      DefaultInfo.
    """
    info = target[DefaultInfo]
    program = info.files_to_run.executable
    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(launcher, script.replace("{program}", program.short_path), is_executable = True)
    runfiles = ctx.runfiles([program] + data).merge(info.default_runfiles)
    return DefaultInfo(executable = launcher, runfiles = runfiles)
