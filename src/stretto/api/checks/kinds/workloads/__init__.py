"""Rules of kinds that create pods: replicas, stateful sets, jobs."""
