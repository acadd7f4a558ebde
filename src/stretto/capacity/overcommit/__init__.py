"""Overcommit of a node: the ratio of promised to real amounts.

This folder contains measured ratios and the choice of the ratio of each node. The ledger contains
the amplified amounts, and the binder enforces them for claims.
"""
