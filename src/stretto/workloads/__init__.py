"""Small controllers of Kubernetes' workloads over any store, and a simulated kubelet.

They cover what users expect of kube-controller-manager for services and batch workloads, enough for
a simulated cluster or a cluster on a laptop.
"""
