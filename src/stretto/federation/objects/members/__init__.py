"""The objects in members: what they should be, what members decide, which version they have."""
