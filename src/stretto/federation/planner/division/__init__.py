"""The default division of replicas over clusters: proportional, monotone, few moves.

This package contains exact shares, their rounding, and plans that start from present replicas.
Weights from capacity are in `supply`.
"""
