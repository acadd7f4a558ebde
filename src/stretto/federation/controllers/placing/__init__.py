"""Placement of one federated object: its policy, plugins, available capacity and decision."""
