"""The scheduling rules, one file each, and one literal table of all rules.

Rules do not import one another. Each has a test and a line in ``docs/guides/plugins.md``. A slot
rule may have no compiled form: then the engine calls it in Python.
"""
