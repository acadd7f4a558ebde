"""Mesos masters: connections to a master, its answers, and a master over a cluster."""
