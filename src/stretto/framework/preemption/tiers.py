"""The search functions of a kernel tier, and the result of a search."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.kernels.numpy.victims import (
    VictimDemand,
    VictimIndex,
    VictimSearchHit,
    VictimSearchLimits,
    search,
)
from stretto.framework.kernels.tiers import kernel

Search = Callable[[VictimIndex, VictimDemand, VictimSearchLimits], VictimSearchHit | None]
"""Finds the best node."""


SearchMany = Callable[
    [VictimIndex, VictimDemand, VictimSearchLimits, Any, int], list[VictimCandidate]
]
"""Finds nodes for many equal pods and records them in the index."""


class SearchKernels(NamedTuple):
    """The search functions of one kernel tier."""

    #: Search for one preemptor.
    one: Search
    #: Search for many equal pods; ``None`` if each pod has its own search.
    many: SearchMany | None


class VictimSearchResult(NamedTuple):
    """The result of a search."""

    #: Best node; ``None`` if no node is feasible.
    candidate: VictimCandidate | None
    #: True if an immediate retry may help: only nodes with earlier promises are feasible.
    again: bool = False
    #: The preemption part of the FailedScheduling event; empty to keep the previous one.
    message: str = ""


NOTHING: Final = VictimSearchResult(None)
"""Result if no eviction makes a node feasible."""


def search_of(tier: str) -> SearchKernels:
    """The search functions of a kernel tier."""
    if not kernel(tier).compiles_searches:
        return SearchKernels(search, None)
    from stretto.framework.kernels.victims import best_of_many
    from stretto.framework.kernels.victims import search as compiled

    return SearchKernels(compiled.search, best_of_many.search_many)


def result_of(hit: VictimSearchHit | None) -> VictimSearchResult:
    """The result of a search in the victim index."""
    if hit is None:
        return NOTHING
    return VictimSearchResult(VictimCandidate(hit.slot, hit.victims, hit.beyond, hit.displaced, 0))
