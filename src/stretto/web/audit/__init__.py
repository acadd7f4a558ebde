"""The audit log: the policy of recorded requests, and the file of their events."""
