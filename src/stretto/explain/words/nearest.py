"""Fuzzy name search for "did you mean", fast enough for the names of a large cluster."""

import difflib
from collections.abc import Iterable
from heapq import nlargest
from typing import Final

SHORTLIST: Final = 300
"""Names compared in full: those that share the longest prefix with the given name."""
CUTOFF: Final = 0.5
"""Minimum similarity of a suggestion, 0 to 1."""
MAX_GAP: Final = 0.2
"""Suggestions this much less similar than the best one are dropped."""


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Up to ``count`` names that are similar to ``name``, the most similar first.

    >>> nearest("openb-pod-12", ["openb-pod-0012", "web-1", "openb-pod-1"])
    ['openb-pod-1', 'openb-pod-0012']
    """
    likely = nlargest(SHORTLIST, names, key=lambda each: _common_start(name, each))
    found = difflib.get_close_matches(name, likely, n=count, cutoff=CUTOFF)
    if not found:
        return []
    least = _similarity(name, found[0]) - MAX_GAP
    return [each for each in found if _similarity(name, each) >= least]


def _similarity(one: str, other: str) -> float:
    """Similarity of two names, 0 to 1."""
    return difflib.SequenceMatcher(None, one, other).ratio()


def _common_start(one: str, other: str) -> int:
    """Length of the common prefix, weighted against the difference in length."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return 4 * place - abs(len(one) - len(other))
    return 4 * min(len(one), len(other)) - abs(len(one) - len(other))
