"""Trials of the scheduler: how many more pods fit on a state, and how few nodes are enough.

This package contains changes of a copied state and searches over trials. It does not contain models
of usage.
"""
