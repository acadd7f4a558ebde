"""Sources, federated objects and members' objects: pure functions from one to the next."""
