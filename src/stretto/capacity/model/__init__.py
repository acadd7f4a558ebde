"""Shared types of all models: classes of pods and amounts of resources.

This folder contains value types, but no formulas.
"""
