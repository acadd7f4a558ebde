"""Headroom: the capacity of a node for reclaimed pods, and its published part.

The formulas are Katalyst's: the canonical estimate per container, the estimate by utilisation, and
memory per NUMA node. They do not call a node agent; the readings are arguments.
"""
