"""Limits of best-effort pods on a node: which files hold them, and who has set them.

Here belong planning from measurements, writing with a record of what was written, and release.
Formulas of suppression and eviction are in ``enforcement``.
"""
