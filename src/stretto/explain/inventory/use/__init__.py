"""Measured use of nodes, pods and pools, with the age of the reports; no output and no trends."""
