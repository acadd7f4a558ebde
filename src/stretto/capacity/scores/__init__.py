"""Scores of nodes by allocation and by measured use, after Volcano's plugins binpack and usage.

This folder contains scores as functions of values. Filters and scores of the engine are plugins.
"""
