"""The durable state of a master, which survives the end of its process.

This package contains rows of entities, and their recovery. It does not contain outstanding offers,
which end with the process.
"""
