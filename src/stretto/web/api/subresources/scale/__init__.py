"""The scale of a workload: its replicas as an object of autoscaling/v1."""
