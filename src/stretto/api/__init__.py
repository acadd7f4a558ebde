"""Kinds of Kubernetes, Gödel and Stretto as frozen structs or raw objects, and their codec.

`api` imports only `base` and does no I/O; its only mutable state is the table of kinds. A write
keeps every field that the structs do not declare.
"""
