"""Amounts of clusters, and the replicas that fit in them."""

from collections.abc import Mapping
from typing import TypeAlias

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: CPU in thousandths of a core, others in units."""


def fitting(amounts: Amounts, request: Amounts) -> int | None:
    """Replicas with ``request`` that fit in ``amounts``; ``None`` if the request is empty."""
    counts = [max(0, amounts.get(name, 0)) // count for name, count in request.items() if count > 0]
    return min(counts) if counts else None
