"""The command line: options, output, exit codes. Each command has a module in `commands`."""
