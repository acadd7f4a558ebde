"""Names that look like another, among as many as a cluster has."""

import difflib
from collections.abc import Iterable
from heapq import nlargest
from typing import Final

SHORTLIST: Final = 300
"""Names that are compared closely: those that begin most like the one that was asked for."""


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Up to ``count`` names that look like one, the best first.

    >>> nearest("openb-pod-12", ["openb-pod-0012", "web-1", "openb-pod-1"])
    ['openb-pod-1', 'openb-pod-0012']
    """
    likely = nlargest(SHORTLIST, names, key=lambda each: _common_start(name, each))
    return difflib.get_close_matches(name, likely, n=count, cutoff=0.5)


def _common_start(one: str, other: str) -> int:
    """How many characters two names begin alike with, and fewer where the lengths differ."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return 4 * place - abs(len(one) - len(other))
    return 4 * min(len(one), len(other)) - abs(len(one) - len(other))
