"""Karmada's scheduler as functions of values, with its rounding, ties and quirks.

The default division of the product is in ``stretto.federation.planner.division``, its scheduling of
clusters in ``stretto.federation.scheduling``.
"""
