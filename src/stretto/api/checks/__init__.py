"""Validation of objects, kind by kind; messages name the field and a remedy."""
