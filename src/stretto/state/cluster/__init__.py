"""The cluster: the ledger and every table, kept consistent as one; and reservations."""
