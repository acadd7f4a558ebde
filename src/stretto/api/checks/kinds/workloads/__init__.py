"""Rules of the kinds that make pods: replicas, stateful sets, jobs."""
