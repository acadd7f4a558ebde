"""Names that look like another, among as many as a cluster has."""

import difflib
from collections.abc import Iterable
from heapq import nlargest
from typing import Final

SHORTLIST: Final = 300
"""Names that are compared closely: those that begin most like the one that was asked for."""
CUTOFF: Final = 0.5
"""Names less alike than this are no help."""
AS_GOOD: Final = 0.2
"""Names that are so much less alike than the best are left out."""


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Up to ``count`` names that look like one, the best first.

    >>> nearest("openb-pod-12", ["openb-pod-0012", "web-1", "openb-pod-1"])
    ['openb-pod-1', 'openb-pod-0012']
    """
    likely = nlargest(SHORTLIST, names, key=lambda each: _common_start(name, each))
    found = difflib.get_close_matches(name, likely, n=count, cutoff=CUTOFF)
    if not found:
        return []
    least = _likeness(name, found[0]) - AS_GOOD
    return [each for each in found if _likeness(name, each) >= least]


def _likeness(one: str, other: str) -> float:
    """From 0 to 1: how much two names have in common."""
    return difflib.SequenceMatcher(None, one, other).ratio()


def _common_start(one: str, other: str) -> int:
    """How many characters two names begin alike with, and fewer where the lengths differ."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return 4 * place - abs(len(one) - len(other))
    return 4 * min(len(one), len(other)) - abs(len(one) - len(other))
