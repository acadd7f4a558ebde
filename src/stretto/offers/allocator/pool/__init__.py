"""The state of the pool: agents, frameworks, roles, quota, filters."""
