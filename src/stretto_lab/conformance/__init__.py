"""Comparison of decisions with recorded decisions of other schedulers."""
