"""Metrics of a local cluster, and the autoscalers that use them."""
