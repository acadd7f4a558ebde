"""Effective rules of an object from policies and annotations, and changes that reschedule it."""
