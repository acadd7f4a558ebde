"""Reclaim: the part of requested but unused capacity that other pods may use.

This folder contains estimators for one node or many nodes, but no enforcement on a node.
"""
