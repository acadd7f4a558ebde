"""Open watches: their events and their timing."""
