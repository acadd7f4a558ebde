"""The state of a master in a file: what survives a killed process.

Here: rows of entities, and their recovery. Not here: outstanding offers, which end with a process.
"""
