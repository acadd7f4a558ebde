"""Supply: what clusters can run, as capacities and weights of the division.

Here belong free and promised capacity, dynamic weights, and generations of CPUs. Rounding to
replicas does not: it is in `division`.
"""
