"""Inter-pod rules in the class-cached path: affinity, anti-affinity and topology spread."""
