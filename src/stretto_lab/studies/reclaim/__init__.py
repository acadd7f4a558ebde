"""The estimators of reclaimed capacity, compared on measured CPU use."""
