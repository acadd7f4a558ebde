"""Placement of pods: the plugin contract, the rules, and the engine that runs them.

The engine filters and scores whole columns. Kernels exist in two tiers with equal results: NumPy
always, numba if it is installed. `framework` never uses a store and does no I/O.
"""
