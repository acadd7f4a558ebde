"""The capacity settings of a profile: overcommit, reclaimed capacity, relief of hot nodes.

Here belong the structs and their strict readers. Estimators and controllers do not.
"""
