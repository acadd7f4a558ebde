"""Capacity of a node, a workload or a cell, from requests and measured use.

Here belong pure models and controllers: values in, values out. Stores, clocks and I/O do not.
"""
