"""Aggregation of the status of members' objects into the status of their source."""
