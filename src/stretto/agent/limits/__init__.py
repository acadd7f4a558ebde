"""Limits of best-effort pods on a node: their files, and the record of the limits that are set.

This folder plans limits from measurements, writes and records them, and releases them. Formulas of
suppression and eviction are in ``enforcement``.
"""
