"""Pod-by-pod comparison of decisions with kube-scheduler on a live cluster."""
