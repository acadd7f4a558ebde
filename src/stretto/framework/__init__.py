"""Where a pod can go: the plugin contract, the rules, and the engine that runs them.

The engine filters and scores whole columns. Kernels exist in two tiers with equal results: NumPy
always, numba where it is installed. `framework` never sees a store and does no I/O.
"""
