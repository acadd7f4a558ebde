"""Dispatcher, shard, binder and controller as separate processes.

The roles exchange work through Gödel's annotations on the API server.
"""
