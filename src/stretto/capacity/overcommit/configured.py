"""The configured ratio of a node, after Katalyst's controller.

``state.rows.promises`` multiplies amounts by it.
"""

from math import isfinite


def read_ratio(text: str | None) -> float | None:
    """Parse a ratio of an annotation; ``None`` if it is absent or not a finite number.

    Spaces and underscores, which ``float`` accepts, are refused as in Katalyst.
    """
    if not text or "_" in text or text != text.strip():
        return None
    try:
        ratio = float(text)
    except ValueError:
        return None
    return ratio if isfinite(ratio) else None


def effective_ratio(static: str | None, measured: str | None) -> float:
    """Ratio of a node: the smaller of the configured and the measured one, at least 1.

    Without a readable configured ratio a node is not overcommitted. A measured ratio that cannot be
    read also disables overcommit, because the load of the node is then unknown.
    """
    configured = read_ratio(static)
    if configured is None:
        return 1.0
    if measured:
        configured = min(configured, read_ratio(measured) or 0.0)
    return max(configured, 1.0)
