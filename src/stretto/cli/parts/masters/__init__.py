"""Mesos masters: how a command reaches one, what it answers, and the form over a cluster."""
