"""Calls of webhooks: addresses, pending calls of a request, and errors of answers."""
