"""HorizontalPodAutoscalers over a cluster: from metrics to the replicas of a workload.

The calculation is in ``capacity.scaling``; this folder contains its inputs, statuses and writes.
"""
