"""Estimates of the cost of checked expressions before any evaluation."""
