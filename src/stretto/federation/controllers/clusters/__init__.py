"""Controllers of member clusters: joining, health, capacity, leaving."""
