"""Planners: how many replicas each cluster runs, and in which order they change.

Here belong pure functions from values to values. I/O, clocks and objects of Kubernetes do not.
"""
