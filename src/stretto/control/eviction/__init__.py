"""Evictions: checks the victims of a plan, evicts them and binds the claims that wait for them."""
