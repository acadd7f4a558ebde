"""One command in its sandbox: its files, limits, process and end.

This folder does not contain tasks, executors and their states.
"""
