"""Events, conditions and statuses that the scheduler writes to the store."""
