"""The audit log: which requests it records, and the file of its events."""
