"""Inputs and results of the allocator: agents, frameworks, quota, settings, grants."""
