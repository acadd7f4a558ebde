"""Structural types of API objects: of Kubernetes from a data file, of CRDs from schemas."""
