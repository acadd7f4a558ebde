"""Controllers of a federation: each reconciles one kind of key over the fleet."""
