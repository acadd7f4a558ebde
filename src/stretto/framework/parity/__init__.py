"""The `kube-parity` engine: kube-scheduler's scheduling cycle, one pod at a time."""
