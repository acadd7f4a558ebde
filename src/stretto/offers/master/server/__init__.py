"""The master as a server: sockets, streams, agents' connections, credentials and limits.

This package contains everything that does I/O. Answers and decisions are pure and elsewhere.
"""
