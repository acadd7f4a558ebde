"""Recorded traffic of a Mesos master, replayed against the master of this package.

This package contains sessions, their agents, bindings of placeholders, and the comparison.
Allocation scenarios are in ``offers``.
"""
