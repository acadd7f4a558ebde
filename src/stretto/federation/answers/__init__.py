"""Answers about a federation: where objects are, why, how far they are, what would change.

Here belong pure reads of a fleet as records. Writing to a fleet and output formats do not.
"""
