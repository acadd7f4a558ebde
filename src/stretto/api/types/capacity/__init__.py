"""Kinds about capacity: over-commitment of nodes, and scaling of services."""
