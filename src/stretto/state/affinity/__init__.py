"""Inter-pod rules in numbers: which pods count in which topology domain."""
