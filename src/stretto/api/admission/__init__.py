"""Defaulting and admission of objects, as in an API server; pure functions over JSON."""
