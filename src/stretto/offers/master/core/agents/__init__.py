"""Agents: how they come, what they report, and how they go.

Here: decisions about one agent. Not here: what operators do with agents.
"""
