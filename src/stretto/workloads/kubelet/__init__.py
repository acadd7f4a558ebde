"""A simulated kubelet: lifecycle and status of pods on simulated nodes."""
