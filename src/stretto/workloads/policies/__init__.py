"""Objects that state rules about the pods of workloads: disruption budgets, autoscalers."""
