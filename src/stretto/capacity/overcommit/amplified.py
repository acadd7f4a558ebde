"""The capacity that an overcommitted node shows, after Katalyst's controller.

The ratio amplifies what remains after the exclusive cores of guaranteed pods: an exclusive core
runs one pod and is never promised twice. Memory has no exclusive part.
"""

from math import isfinite


def read_ratio(text: str | None) -> float | None:
    """A ratio as an annotation holds it; ``None`` if it is absent or not a finite number."""
    try:
        ratio = float(text) if text else None
    except ValueError:
        return None
    return ratio if ratio is not None and isfinite(ratio) else None


def effective_ratio(static: str | None, measured: str | None) -> float:
    """The ratio of a node: the smaller of the configured and the measured one, at least 1.

    Without a readable configured ratio a node is not overcommitted. A measured ratio that cannot be
    read also turns overcommit off, because the load of the node is then unknown.
    """
    configured = read_ratio(static)
    if configured is None:
        return 1.0
    if measured:
        configured = min(configured, read_ratio(measured) or 0.0)
    return max(configured, 1.0)


def amplified(original: int, guaranteed: int, ratio: float) -> int:
    """An amount of a node after overcommit.

    Args:
        original: real amount.
        guaranteed: the part that guaranteed pods use exclusively, in the same unit.
        ratio: effective ratio.

    Returns:
        The guaranteed part plus the rest times the ratio, truncated.
    """
    if ratio <= 1.0:
        return original
    return int((original - guaranteed) * ratio) + guaranteed
