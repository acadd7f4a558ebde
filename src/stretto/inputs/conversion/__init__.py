"""Traces, dumps and scenarios as recordings; each source has one reader of its own form."""
