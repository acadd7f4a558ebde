"""States of units: their containers, the moves between them, and the end of an attempt."""
