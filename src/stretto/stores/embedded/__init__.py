"""The embedded stores: in memory, and durable in one SQLite file."""
