"""Queries about a federation: placements, reasons, progress, effects of a migration.

This package contains pure reads of a fleet that return records. It contains no writes and no output
formats.
"""
