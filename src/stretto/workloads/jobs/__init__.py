"""Jobs: their pods, completion indexes and ends."""
