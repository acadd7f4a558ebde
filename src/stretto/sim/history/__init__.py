"""Recordings and sandboxes: record a cluster, replay it, plan submissions, forecast start times."""
