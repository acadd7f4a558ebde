"""Sizes of sets of pods during updates: bounds, and shares of a total."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

_Set = TypeVar("_Set")


def resolved(value: object, replicas: int, rounded: Callable[[float], int]) -> int:
    """Resolve a number, or a percentage of the replicas that ``rounded`` rounds."""
    if isinstance(value, str) and value.endswith("%"):
        return rounded(int(value[:-1]) * replicas / 100)
    return int(str(value))


def proportional(
    sets: Sequence[tuple[_Set, int, int | None]], most: int, replicas: int
) -> list[tuple[_Set, int]]:
    """New sizes of sets that share the pods of a Deployment, computed as in Kubernetes.

    Args:
        sets: each set, the oldest first, with its size and the maximum number of pods of the
            Deployment when the set was scaled last; ``None`` if unknown.
        most: the new maximum number of pods of the Deployment.
        replicas: the number of its pods, for sets without a previous maximum.
    """
    missing = most - sum(size for _, size, _ in sets)
    newest_first = list(reversed(sets)) if missing > 0 else list(sets)
    ordered = sorted(newest_first, key=lambda each: -each[1])
    sizes: list[tuple[_Set, int]] = []
    left = missing
    for each, size, before in ordered:
        base = before or replicas
        share = math.floor(size * most / base + 0.5) - size if base else 0
        added = max(min(share, left), 0) if missing > 0 else min(max(share, left), 0)
        left -= added
        sizes.append((each, size + added))
    if sizes:
        first, size = sizes[0]
        sizes[0] = first, max(0, size + left)
    return sizes
