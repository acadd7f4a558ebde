"""Controllers beside the scheduling path: reservations, rescheduling, over-committed nodes."""
