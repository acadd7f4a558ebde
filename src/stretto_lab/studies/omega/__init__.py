"""Omega's experiment: conflicts between parallel schedulers on shared state."""
