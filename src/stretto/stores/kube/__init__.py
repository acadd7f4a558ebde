"""A Kubernetes API server as the store: reads, watches, writes and their replies.

No other folder contains an HTTP client.
"""
