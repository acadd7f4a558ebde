"""The stage of a profile that divides the replicas of a workload over the selected clusters."""
