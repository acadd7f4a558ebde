"""Defaulting and admission of objects as an API server does them; pure functions over JSON."""
