"""The configured ratio of a node, after Katalyst's controller.

``state.rows.promises`` multiplies amounts by it.
"""

from math import isfinite

from stretto.capacity.overcommit.floats import parse_float


def read_ratio(text: str | None) -> float | None:
    """Parse a ratio of an annotation; ``None`` if it is absent or not a finite number."""
    ratio = parse_float(text or "")
    return ratio if ratio is not None and isfinite(ratio) else None
