"""A real Kubernetes control plane on loopback, started and stopped by tests and benches."""
