"""Overcommit of a node: how much more is promised than the node has, and which pods that admits.

Ratios, amplified node values and admission are functions of their arguments. Choosing the ratio of
a pool and enforcing it at the claim belong to the engine.
"""
