"""Kubernetes objects from files: manifests, workload controllers, recordings, redaction."""
