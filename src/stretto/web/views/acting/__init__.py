"""Changes of objects through the dashboard: their effects, the rights for them, and the writes."""
