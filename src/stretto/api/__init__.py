"""Kubernetes' and Gödel's types as frozen structs, and their codec.

`api` imports only `base`, holds no mutable state and does no I/O. A write keeps every field
that the structs do not declare.
"""
