"""command_line_flag: --//package:name, true or false, for config_settings to look at."""

def _command_line_flag_impl(_ctx):
    return []

command_line_flag = rule(
    implementation = _command_line_flag_impl,
    build_setting = config.bool(flag = True),
    doc = "A flag of the command line.",
)
