"""The master as a server: sockets, streams, agents' connections, credentials and limits.

Here: everything that does I/O. Not here: answers and decisions, which are pure.
"""
