"""Rules that explain differences between an outcome and the recorded one."""
