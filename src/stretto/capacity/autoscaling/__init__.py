"""HorizontalPodAutoscalers over a cluster: from metrics to the replicas of a workload.

The calculation is in ``capacity.scaling``; here belong its inputs, its statuses and its writes.
"""
