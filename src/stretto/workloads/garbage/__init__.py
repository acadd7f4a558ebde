"""Garbage collection by owner references and finalizers, over any kinds of any store."""
