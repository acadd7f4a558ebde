"""The scheduling rules: one file each, and one literal table of them all.

Lives here: filters and scores written over whole columns, each declaring what
may be cached and which cluster events may cure its "no".
Must not: import one another, call back per node from Python, or register by
import side effect. A plugin has a test and a line in the documentation.
"""
