"""Capacity of a node, a workload or a cell, from requests and measured use.

This folder contains pure models and controllers that map values to values, without stores, clocks
and I/O.
"""
