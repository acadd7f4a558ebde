"""A store wrapper that injects faults, for tests and the fault simulator."""
