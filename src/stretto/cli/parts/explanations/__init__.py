"""Answers of ``stretto explain``."""
