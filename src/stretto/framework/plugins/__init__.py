"""The scheduling rules, one file each, and one literal table of them all.

Rules do not import one another. Each has a test and a line in ``docs/guides/plugins.md``. A slot
rule without a compiled form works too: the engine calls it in Python.
"""
