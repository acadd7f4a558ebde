"""Kinds about capacity: what nodes promise, and how services scale."""
