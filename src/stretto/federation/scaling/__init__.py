"""Ports of centralized autoscalers: pods of members, their usage, and scales of sources."""
