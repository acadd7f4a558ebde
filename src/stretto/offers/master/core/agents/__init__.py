"""Agents: registration, reports and removal.

This package contains decisions about one agent. It does not contain actions of operators.
"""
