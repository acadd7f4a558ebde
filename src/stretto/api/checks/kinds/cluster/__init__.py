"""Rules of cluster kinds: access, network, storage, scaling, priorities, budgets."""
