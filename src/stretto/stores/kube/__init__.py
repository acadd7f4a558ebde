"""A Kubernetes API server as the store: reads, watches, writes and their answers.

This is the only folder with an HTTP client.
"""
