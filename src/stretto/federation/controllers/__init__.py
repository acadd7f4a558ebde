"""Controllers of a federation. Each one reconciles one kind of key over the fleet."""
