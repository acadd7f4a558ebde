"""Objects with rules about the pods of workloads: disruption budgets."""
