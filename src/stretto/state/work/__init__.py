"""Messages between dispatcher, scheduler and binder: units, claims, plans, verdicts."""
