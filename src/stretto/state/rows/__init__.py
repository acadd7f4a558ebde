"""Columns: nodes as slots, pods as rows, amounts, devices, ports, and the lifecycle table."""
