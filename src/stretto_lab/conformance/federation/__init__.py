"""Recorded decisions of KubeAdmiral and Karmada, put to the planners of the federation.

Here belong the form of the recordings and one adapter per system. Planners do not.
"""
