"""Random workloads, clusters and faults for the fault simulator."""
