"""The cluster as whole objects with int64 amounts, as kube-scheduler's rules read it."""
