"""Sets of integers as sorted, disjoint, inclusive ranges (ports)."""

from collections.abc import Iterable
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Inclusive (first, last) pairs: sorted, disjoint and not adjacent."""


def normalize(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Sort the pairs and join overlapping and adjacent ones."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def union(left: Ranges, right: Ranges) -> Ranges:
    """Integers of either side."""
    return normalize((*left, *right))


def difference(left: Ranges, right: Ranges) -> Ranges:
    """Integers of ``left`` that are not in ``right``."""
    left_over: list[tuple[int, int]] = []
    for first, last in left:
        start = first
        for low, high in right:
            if high < start or low > last:
                continue
            if low > start:
                left_over.append((start, low - 1))
            start = high + 1
        if start <= last:
            left_over.append((start, last))
    return tuple(left_over)


def contains(whole: Ranges, part: Ranges) -> bool:
    """True if every integer of ``part`` is in ``whole``."""
    return whole == part or all(
        any(low <= first and last <= high for low, high in whole) for first, last in part
    )


def count(ranges: Ranges) -> int:
    """Number of integers."""
    return sum(last - first + 1 for first, last in ranges)
