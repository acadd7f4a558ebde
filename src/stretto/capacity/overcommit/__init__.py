"""Overcommit of a node: how much more is promised than the node has, and which pods that admits.

Here belong measured ratios, admission, shrinking, and the choice of the ratio of each node. The
amplified amounts and their enforcement at the claim belong to the ledger and the binder.
"""
