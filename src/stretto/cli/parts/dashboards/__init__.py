"""What a dashboard follows: a cluster, a master, a fleet."""
