"""Where objects are kept: one narrow `Store` protocol and what implements it.

Lives here: the protocol, memory, SQLite, later the Kubernetes API server, and a
store that fails on purpose, for tests. All pass one contract suite.
Must not: decide anything about scheduling. Only `stores.kube` may import an HTTP
client. A write answers ok, conflict, refused or unknown; it does not raise.
"""
