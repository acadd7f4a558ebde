"""The command line: one thin module for each verb.

Lives here: options, their checks, progress on a terminal, tables, exit codes.
Must not: compute anything. A module imports its own world inside the command,
so that `--help` and `--version` load no NumPy, numba, matplotlib or HTTP client.
"""
