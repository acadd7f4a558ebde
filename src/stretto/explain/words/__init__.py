"""Reasons and amounts as text."""
