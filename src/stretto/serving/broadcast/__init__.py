"""Streams for many clients: a separate process sends each message to all of them.

This folder contains the process, the side of its parent, and the response that uses both. It does
not contain the messages.
"""
