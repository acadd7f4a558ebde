"""Amounts of resources as values: exact scalars, ranges, sets, reservations, disks and volumes."""
