"""Objects that a new server creates by itself, and their conditions; not their rules."""
