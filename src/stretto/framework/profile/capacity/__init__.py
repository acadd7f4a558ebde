"""The capacity settings of a profile: overcommit, reclaimed capacity, moves from hot nodes.

This folder contains the structs and their strict readers, but no estimators and controllers.
"""
