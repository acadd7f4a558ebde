"""Load: placement and rebalancing by measured use.

Here belong estimates, filters, scores and the selection of pods to move. Evictions do not.
"""
