"""Sources of a dashboard: a cluster, a master, a fleet."""
