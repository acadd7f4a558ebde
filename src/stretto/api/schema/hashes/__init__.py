"""Hashes of pod templates and revisions, equal to those of Kubernetes' controllers."""
