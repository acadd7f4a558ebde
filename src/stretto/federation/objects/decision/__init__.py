"""What a scheduling decision reads of an object, and what its result changes."""
