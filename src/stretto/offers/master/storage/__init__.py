"""The durable state of a master, which survives a killed process.

Here: rows of entities, and their recovery. Not here: outstanding offers, which end with a process.
"""
