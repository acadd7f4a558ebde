"""The fault simulator: one seed draws a cluster, a workload and faults; laws hold at every step."""
