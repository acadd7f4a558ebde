"""Long-running processes of a cluster: leader election, probes, metrics, logs, reloads."""
