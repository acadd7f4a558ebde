"""Dispatcher, shard, binder and controller as separate processes.

They exchange work through Gödel's annotations on the API server.
"""
