"""Inter-pod rules in numbers: pods of each population by topology domain."""
