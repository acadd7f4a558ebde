"""Pod classes: all pods with the same scheduling-relevant spec share one id."""
