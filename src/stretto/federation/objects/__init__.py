"""Pure functions over sources, federated objects and members' objects."""
