"""Rules that explain why an outcome differs from the recorded one."""
