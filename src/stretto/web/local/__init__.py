"""A cluster in one process: API, simulated nodes, controllers and scheduler over one store."""
