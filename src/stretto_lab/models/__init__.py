"""Models of other systems: functions of values that compute what these systems compute.

The comparison with recorded results and the tests of the product use them. The product contains
its own implementation of each feature, over columns.
"""
