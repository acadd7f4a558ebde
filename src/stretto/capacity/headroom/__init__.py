"""Headroom: what a node lends to reclaimed pods, and how much of it is published.

The formulas are Katalyst's: the canonical estimate per container, the estimate by utilisation, and
memory per NUMA node. They do not call a node agent: readings are arguments.
"""
