"""Load: placement and rebalancing by measured use.

This folder contains estimates, filters, scores and the selection of pods to move, but no evictions.
"""
