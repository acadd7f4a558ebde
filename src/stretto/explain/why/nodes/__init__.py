"""Reasons why no node accepts a pod, as sentences. Cures are in ``remedies``."""
