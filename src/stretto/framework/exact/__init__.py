"""kube-scheduler's rules to the quirk: the path that the profile ``kube-parity`` takes.

Here live the snapshot of a cluster (nodes in columns, pods in tallies, all other objects), the
default plugins of kube-scheduler 1.36 under their own names, and the cycle that asks them: int64
amounts, integer division, scores normalised over the feasible nodes, every node looked at.

What must not live here: rules of our own, stores, queues. What upstream does stays, defects
included; what the default profile does better is the business of ``framework.plugins``.
"""
