"""Long-running processes beside a cluster: leader election, probes, metrics, logs, reloads."""
