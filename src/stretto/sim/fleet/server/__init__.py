"""The API server of an embedded member: the kinds that it serves, and how it answers."""
