"""Open watches: the events that they send, and when."""
