"""Input of a scheduling decision from its object, and the fields that its result changes."""
