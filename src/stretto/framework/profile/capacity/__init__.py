"""The capacity settings of a profile: overcommit, reclaimed capacity, moves from hot nodes.

Here belong the structs and their strict readers. Estimators and controllers do not.
"""
