"""Rules of kinds about the cluster: access, network, storage, scaling, priorities, budgets."""
