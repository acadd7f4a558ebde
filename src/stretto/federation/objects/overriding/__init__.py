"""Differences between clusters: from override policies to operations, and from these to objects."""
