"""Agents: registration, reports and removal.

Here: decisions about one agent. Not here: actions of operators.
"""
