"""The HTTP interfaces as functions: a request in, an answer out, events in the outbox.

Here: routes, media types, calls, legacy endpoints, metrics. Not here: sockets and decisions.
"""
