"""Garbage collection over all served kinds, by owner references and finalizers."""
