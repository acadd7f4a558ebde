"""Changes of objects through the dashboard: their effects, the required rights, and the writes."""
