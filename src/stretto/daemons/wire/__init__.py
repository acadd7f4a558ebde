"""The roles of a scheduler as daemons of their own, that hand over through annotations.

Lives here: the views that show each role the pods in its hands as plain work and turn its
decisions into writes, the planes of the roles, and who of the shards lives.
Must not: decide where a pod goes, or know of lines, leases and probes.
"""
