"""Caches for texts of one template, which differ only in names; nothing that works without them."""
