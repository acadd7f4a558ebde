"""Streams that many clients read: one process of its own sends each message to all of them.

Here: the process, its parent's side, and the response that uses both. Not here: what is sent.
"""
