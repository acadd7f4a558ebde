"""Cures that would place a pending pod or its gang; cures that are needed together are marked."""
