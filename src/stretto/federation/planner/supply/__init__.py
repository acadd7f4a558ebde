"""Supply of clusters, as capacities and weights of the division.

This package contains free and promised capacity, dynamic weights, and generations of CPUs. Rounding
to replicas is in `division`.
"""
