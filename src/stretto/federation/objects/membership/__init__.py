"""Member clusters as values: conditions, credentials, capacity, rights and leftovers."""
