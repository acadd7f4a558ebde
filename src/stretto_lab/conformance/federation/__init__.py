"""Recorded decisions of KubeAdmiral and Karmada, for the planners of the federation.

This package contains the form of the recordings and one adapter per system. It does not contain the
planners and models.
"""
