"""Overrides of clusters: from override policies to operations, and from operations to objects."""
