"""Conversion of custom objects between versions by the webhook of their definition."""
