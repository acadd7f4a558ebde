"""Subresources: parts of an object with a separate path and separate rules."""
