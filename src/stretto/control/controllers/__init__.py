"""Controllers outside the scheduling path: reservations, rescheduling, over-committed nodes."""
