"""The configured ratio of a node, after Katalyst's controller.

``state.rows.promises`` multiplies amounts by it.
"""

from math import isfinite

from stretto.capacity.overcommit.floats import parse_float


def read_ratio(text: str | None) -> float | None:
    """Parse a ratio of an annotation; ``None`` if it is absent or not a finite number."""
    ratio = parse_float(text or "")
    return ratio if ratio is not None and isfinite(ratio) else None


def effective_ratio(static: str | None, measured: str | None) -> float:
    """Ratio of a node: the smaller of the configured and the measured one, at least 1.

    Without a finite ratio a node is not overcommitted. A measured ratio that cannot be read also
    disables overcommit, because the load of the node is then unknown.
    """
    ratio = parse_float(static or "")
    if ratio is None:
        return 1.0
    if measured is not None:
        known = parse_float(measured) or 0.0
        ratio = min(ratio, known)
    return max(ratio, 1.0) if isfinite(ratio) else 1.0
