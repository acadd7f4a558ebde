"""Objects in members: the writes, their answers, and what they mean."""
