"""Stretto: one scheduler for services, batch, streaming and machine learning.

The folders form layers, from the bottom up: `base`, `api`, `stores`, `state`, `framework`,
`control` and `inputs`, `explain` and `plane`, `sim` and `daemons`, `cli` and `testing`.
Imports only point down.
"""

__version__ = "0.1.0"
