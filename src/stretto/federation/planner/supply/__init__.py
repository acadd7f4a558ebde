"""Supply of clusters, as capacities and weights of the division.

This package contains replicas that fit, dynamic weights, and generations of CPUs. Promises are in
`scheduling.supply`, rounding to replicas is in `division`.
"""
