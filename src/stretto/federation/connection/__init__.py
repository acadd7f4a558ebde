"""Connections to members: the protocol, and the implementation for API servers."""
