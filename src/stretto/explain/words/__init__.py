"""Reasons, amounts and unit facts as text."""
