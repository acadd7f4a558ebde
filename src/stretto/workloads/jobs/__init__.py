"""Jobs: their pods, their indexes and their ends."""
