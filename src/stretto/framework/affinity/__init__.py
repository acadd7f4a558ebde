"""Inter-pod rules in the class-cached engine: affinity, anti-affinity and topology spread."""
