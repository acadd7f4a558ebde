"""Overcommit of a node: the ratio of promised to real amounts, and the pods that it admits.

This folder contains measured ratios, admission, shrinking, and the choice of the ratio of each
node. The ledger contains the amplified amounts, and the binder enforces them for claims.
"""
