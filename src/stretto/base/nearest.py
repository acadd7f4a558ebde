"""Search for names that are similar to a wrong one; every "did you mean" (``base.errors``) uses it.

The search ignores case. It is fast enough for the names of a large cluster.
"""

import difflib
from collections.abc import Iterable
from heapq import nlargest
from typing import Final

SHORTLIST: Final = 300
"""Number of names compared in full: those with the longest common prefix with the given name."""
CUTOFF: Final = 0.6
"""Minimum similarity of a suggestion, 0 to 1."""
SHORT_CUTOFF: Final = 0.5
"""Minimum similarity for names of two characters: ``n9`` and ``n1`` have half in common."""
MAX_GAP: Final = 0.2
"""Suggestions this much less similar than the best one are dropped."""


def nearest(
    name: str, names: Iterable[str], count: int = 3, *, cutoff: float | None = None
) -> list[str]:
    """Return up to ``count`` names that are similar to ``name``, the most similar first.

    Args:
        name: the wrong name.
        names: the known names.
        count: maximum number of results.
        cutoff: minimum similarity; the default depends on the length of the name.

    >>> nearest("openb-pod-12", ["openb-pod-0012", "web-1", "openb-pod-1"])
    ['openb-pod-1', 'openb-pod-0012']
    """
    plain = name.casefold()
    folded = {each.casefold(): each for each in names}
    if cutoff is None:
        cutoff = CUTOFF if len(name) > 2 else SHORT_CUTOFF
    likely = nlargest(SHORTLIST, folded, key=lambda each: _common_start(plain, each))
    found = difflib.get_close_matches(plain, likely, n=count, cutoff=cutoff)
    if not found:
        return []
    least = _similarity(plain, found[0]) - MAX_GAP
    return [folded[each] for each in found if _similarity(plain, each) >= least]


def _similarity(one: str, other: str) -> float:
    """Similarity of two names, 0 to 1."""
    return difflib.SequenceMatcher(None, one, other).ratio()


def _common_start(one: str, other: str) -> int:
    """Length of the common prefix, weighted against the difference in length."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return 4 * place - abs(len(one) - len(other))
    return 4 * min(len(one), len(other)) - abs(len(one) - len(other))
