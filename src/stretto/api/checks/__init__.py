"""Validation of objects, kind by kind, with messages that name the field and the fix."""
