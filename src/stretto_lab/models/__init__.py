"""Models of other systems: functions of values that compute what these systems compute.

Comparisons with recorded results, studies and tests use them. The product has its own
implementation of each feature that it offers, mostly over columns.
"""
