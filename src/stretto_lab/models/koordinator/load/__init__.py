"""Placement and rebalancing by measured use after Koordinator: filter, score, pods to move."""
