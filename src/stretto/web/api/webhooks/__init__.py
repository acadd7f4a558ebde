"""Calls of webhooks: addresses, what a request waits for, and what is wrong with an answer."""
