"""What policies and annotations say about an object, and which changes call for a new decision."""
