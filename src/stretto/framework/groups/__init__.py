"""Placement on selected slots: gangs in topology domains, NUMA nodes, caps, reservations."""
