"""The default division of replicas over clusters: proportional, monotone, few moves.

Here belong exact shares, their rounding, and plans that start from present replicas. Weights from
capacity do not: they are in `supply`.
"""
