"""Open watches: what they send when."""
