"""Small controllers of Kubernetes' workloads over any store, and a simulated kubelet.

They do what users expect of kube-controller-manager for services and batch: enough for a simulated
cluster or a cluster on a laptop.
"""
