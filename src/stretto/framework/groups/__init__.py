"""Placement inside chosen slots: gangs in topology domains, NUMA nodes, caps, reservations."""
