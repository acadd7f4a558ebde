"""Kinds of Kubernetes, Gödel and Stretto as frozen structs or raw objects, and their codec.

`api` imports only `base` and does no I/O. Its only mutable state is the table of kinds. A write
preserves every field that the structs do not declare.
"""
