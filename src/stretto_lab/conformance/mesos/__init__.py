"""Recorded traffic of a Mesos master, replayed against the master of this package.

Here: sessions, their agents, bindings of placeholders, comparison. Not here: allocation scenarios.
"""
