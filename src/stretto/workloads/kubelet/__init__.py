"""A simulated kubelet: what pods on simulated nodes do, and what their status says."""
