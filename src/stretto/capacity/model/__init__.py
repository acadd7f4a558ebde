"""Shared types of all models: priority bands of pods, and the system that a model reproduces.

This folder contains value types, but no formulas.
"""
