"""kube-scheduler's volume binder: PVCs, attach limits and storage capacity."""
