"""The API server of an embedded member: its kinds, and its availability."""
