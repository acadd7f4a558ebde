"""What runs for months beside a cluster: the loop around a plane, and what watches it.

Lives here: the scheduler's daemon, its lease, its probes and metrics over HTTP, its
log, and the store that waits for a server that is away.
Must not: decide anything about scheduling, read a command line, or listen beyond
this machine with anything that is not harmless.
"""
