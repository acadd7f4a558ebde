"""Controllers of a cluster: the daemon of a leader, and the controllers of capacity.

The controllers of a federation are in ``stretto.daemons.federation``.
"""
