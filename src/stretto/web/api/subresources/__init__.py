"""Subresources: parts of an object with a path and rules of their own."""
