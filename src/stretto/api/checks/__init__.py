"""Validation of objects by kind; messages contain the field and a remedy."""
