"""The HTTP interfaces as functions from a request to an answer; events go to the outbox.

This package contains routes, media types, calls, legacy endpoints and metrics. It contains no
sockets and no decisions.
"""
