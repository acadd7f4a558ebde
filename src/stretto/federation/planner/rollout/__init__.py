"""The default rollout: one rolling update over all clusters, under one budget.

Here belong what members report, policies, and the next specification of every member. The rounds of
KubeAdmiral's first release do not: they are in `kubeadmiral`.
"""
