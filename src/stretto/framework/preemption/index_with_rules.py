"""A victim index for the nodes on which inter-pod rules require an eviction.

A rule that is violated by too many pods is a resource (``affinity.after_eviction``). For the few
affected nodes, it is an additional column next to CPU and memory, and the normal victim search
runs: pods that must be evicted for a rule are victims even if resources suffice. Columns are built
only for nodes that can be the best one, given a known better node or the lowest sufficient
priority.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.affinity.after_eviction import (
    NO_LIMIT,
    DomainExcess,
    EvictionPreview,
    RequiredAffinity,
)
from stretto.framework.affinity.counts import DomainView
from stretto.framework.kernels.numpy.victims import (
    EVERY_NODE,
    SPENT,
    VictimDemand,
    VictimIndex,
    VictimSearchHit,
    VictimSearchLimits,
)
from stretto.state.affinity.index import PopulationRegistry
from stretto.state.victims.columns import EVICTABLE, VictimEntries, VictimSums

LOOKUP_SIZE: Final = 1 << 20
"""Number of combinations of pod requests that a lookup table distinguishes.

More of them are sorted.
"""

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class LowerPriorityEntries(NamedTuple):
    """Entries of some slots below a priority."""

    #: int64[k]: position of the slot in the query.
    at: Ints
    #: int64[k]: position in the entries of the slot.
    place: Ints
    #: int64[k]: rows.
    rows: Ints


class RuleBlockedNodes(NamedTuple):
    """The nodes on which a rule requires an eviction."""

    #: int64[k]: slots of the nodes, ascending; the index numbers them from 0.
    slots: Ints
    #: Columns of the nodes.
    columns: VictimIndex
    #: The search on these nodes.
    wanted: VictimDemand


class NodesByRule(NamedTuple):
    """Nodes grouped by the results of the inter-pod rules."""

    #: Search on nodes that the rules allow at present.
    plain: VictimDemand
    #: int64[k]: the other candidate nodes, ascending.
    pressed: Ints
    #: Rules that too many pods violate on these nodes.
    counts: tuple[DomainExcess, ...]
    #: int64[k]: nodes to simulate, because a hard budget may protect a required match there.
    doubtful: Ints


def nodes_by_rule(
    heads: EvictionPreview,
    view: DomainView,
    domains: PopulationRegistry,
    search: tuple[VictimIndex, VictimDemand, VictimSearchLimits],
) -> NodesByRule:
    """Group the nodes for a search."""
    index, wanted, limits = search
    size = len(wanted.admitted)
    admitted = (wanted.admitted > 0) & heads.could(view)[:size]
    admitted &= _enough(index, wanted)
    doubtful = np.zeros(0, np.int64)
    if heads.required is not None:
        stays, doubtful = _affinity_survives(heads.required, view, domains, (index, wanted, limits))
        admitted &= stays
    passes = heads.passes()[:size]
    plain = wanted._replace(admitted=(admitted & passes).astype(wanted.admitted.dtype))
    return NodesByRule(plain, np.flatnonzero(admitted & ~passes), heads.counts, doubtful)


def rule_blocked_of(
    parts: NodesByRule,
    domains: PopulationRegistry,
    search: tuple[VictimIndex, VictimDemand, VictimSearchLimits],
    plain: VictimSearchHit | None,
) -> RuleBlockedNodes | None:
    """Nodes on which a rule requires an eviction, if one can be better than ``plain``."""
    slots = parts.pressed
    if len(slots) and search[2].most == EVERY_NODE:
        slots = _contenders(parts, domains, search, plain)
    if not len(slots):
        return None
    return _rule_blocked(slots, _broken(parts.counts, slots), domains, search)


def _contenders(
    parts: NodesByRule,
    domains: PopulationRegistry,
    search: tuple[VictimIndex, VictimDemand, VictimSearchLimits],
    plain: VictimSearchHit | None,
) -> Ints:
    """Nodes among these that can be the best one."""
    index, wanted, limits = search
    slots = parts.pressed
    if plain is not None:
        violations, top = plain.key[:2]
        return slots if violations else slots[_fits_without_lower(top, parts, domains, search)]
    if len(limits.left):  # the pods of a node must be read to know which of them a budget protects
        return slots
    sure = index.entries.odd[slots] == 0
    for top in index.sums.edges[: wanted.bands].tolist():
        if top >= wanted.priority:
            break
        does = _fits_without_lower(top, parts, domains, search)
        if (does & sure).any():
            return slots[does]
    return slots


def _fits_without_lower(
    top: int,
    parts: NodesByRule,
    domains: PopulationRegistry,
    search: tuple[VictimIndex, VictimDemand, VictimSearchLimits],
) -> Mask:
    """bool[k]: nodes that may be feasible after the eviction of all pods up to a priority."""
    index, wanted, _ = search
    slots, sums = parts.pressed, index.sums
    band = int(np.searchsorted(sums.edges, top))
    does = np.ones(len(slots), np.bool_)
    for column, need in zip(wanted.columns, wanted.need, strict=True):
        does &= sums.free[column, slots] + sums.below[band, column, slots] >= need
    left = np.flatnonzero(does)
    low = lower_priority_of(index.entries, slots[left], wanted.priority, top)
    for each in _broken(parts.counts, slots[left]):
        counts = domains.counted_in(each.population, low.rows)
        gone = np.bincount(low.at[counts], minlength=len(left))
        does[left] &= each.slack[slots[left]] + gone * each.here[slots[left]] >= 0
    return does


def _broken(counts: Sequence[DomainExcess], slots: Ints) -> list[DomainExcess]:
    """Rules that are violated on some of these slots."""
    return [each for each in counts if (each.slack[slots] < 0).any()]


def lower_priority_of(
    entries: VictimEntries, slots: Ints, priority: int, top: int | None = None
) -> LowerPriorityEntries:
    """The entries of some slots below a priority; with ``top``, only those that cost no more."""
    held = np.arange(entries.kind.shape[1])[None, :] < entries.length[slots, None]
    held &= entries.priority[slots] < priority
    if top is not None:
        held &= (entries.priority[slots] <= top) | (entries.kind[slots] != EVICTABLE)
    at, place = np.nonzero(held)
    return LowerPriorityEntries(at, place, entries.row[slots[at], place].astype(np.int64))


def _enough(index: VictimIndex, wanted: VictimDemand) -> Mask:
    """bool[slot]: nodes with enough resources after the eviction of all pods of lower priority."""
    sums, mask = index.sums, np.ones(len(wanted.admitted), np.bool_)
    for column, need in zip(wanted.columns, wanted.need, strict=True):
        mask &= sums.free[column] + sums.below[wanted.bands - 1, column] >= need
    return mask


def _affinity_survives(
    required: RequiredAffinity,
    view: DomainView,
    domains: PopulationRegistry,
    search: tuple[VictimIndex, VictimDemand, VictimSearchLimits],
) -> tuple[Mask, Ints]:
    """Nodes where required affinity holds after all evictions, and nodes where budgets decide."""
    index, wanted, limits = search
    size = len(wanted.admitted)
    stays = np.ones(size, np.bool_)
    slots = np.flatnonzero((view.state.pods[required.population, :size] > 0) & wanted.admitted)
    if not len(slots):
        return stays, slots
    low = lower_priority_of(index.entries, slots, wanted.priority)
    counts = domains.counted_in(required.population, low.rows)
    gone = np.zeros(len(required.there), np.int64)
    np.add.at(gone, slots[low.at[counts]], 1)
    stays &= required.is_satisfied(gone)[:size]
    if not limits.hard or not len(limits.left):
        return stays, np.zeros(0, np.int64)
    held = limits.standing[index.entries.budget[slots[low.at], low.place]] > 0
    kept = np.unique(slots[low.at[counts & held]])
    return stays, kept[~stays[kept]]


def _rule_blocked(
    slots: Ints,
    counts: Sequence[DomainExcess],
    domains: PopulationRegistry,
    search: tuple[VictimIndex, VictimDemand, VictimSearchLimits],
) -> RuleBlockedNodes:
    """Index of some slots with an additional column for each rule."""
    index, wanted, limits = search
    entries, sums = index.entries, index.sums
    width, low = len(sums.free), lower_priority_of(entries, slots, wanted.priority)
    takes = np.zeros((len(low.rows), len(counts) + 1), np.int64)
    takes[:, 0] = entries.request[slots[low.at], low.place]
    for column, each in enumerate(counts, 1):
        takes[:, column] = domains.counted_in(each.population, low.rows)
        takes[:, column] *= each.here[slots[low.at]]
    numbered, which = _numbered(takes)
    requests = np.hstack([index.requests[numbered[:, 0], :width], numbered[:, 1:]])
    mine = VictimEntries._make(np.ascontiguousarray(column[slots]) for column in entries)
    mine.request[:] = 0  # pods that are never evicted
    mine.request[low.at, low.place] = which
    safe = limits.standing[entries.budget[slots[low.at], low.place]] != SPENT
    slack = np.array([each.slack[slots].clip(-NO_LIMIT, NO_LIMIT) for each in counts])
    largest = requests[:, width:].max(axis=0, initial=0)
    return RuleBlockedNodes(
        slots,
        VictimIndex(
            mine,
            _sums(sums, slots, slack, (low, mine, takes[:, 1:], safe)),
            np.ascontiguousarray(requests),
            np.concatenate([index.largest[:width], largest]),
        ),
        wanted._replace(
            columns=np.append(
                wanted.columns, np.arange(width, width + len(counts), dtype=np.int32)
            ),
            need=np.append(wanted.need, np.zeros(len(counts), np.int64)),
            admitted=np.ones(len(slots), wanted.admitted.dtype),
        ),
    )


def _numbered(takes: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of a table of small numbers, and the index of each row among them."""
    key, span = np.zeros(len(takes), np.int64), 1
    for column in takes.T:
        width = int(column.max(initial=0)) + 1
        key, span = key * width + column, span * width
    if span > LOOKUP_SIZE:
        rows, which = np.unique(takes, axis=0, return_inverse=True)
        return rows, which.reshape(-1)
    last, number = np.full(span, -1, np.int64), np.zeros(span, np.int64)
    last[key] = np.arange(len(key))
    used = np.flatnonzero(last >= 0)
    number[used] = np.arange(len(used))
    return takes[last[used]], number[key]


def _sums(
    sums: VictimSums,
    slots: Ints,
    slack: Ints,
    low: tuple[LowerPriorityEntries, VictimEntries, Ints, Mask],
) -> VictimSums:
    """Sums of some slots with the additional columns; the last result marks certain victims."""
    lower, entries, takes, safe = low
    free = np.ascontiguousarray(np.concatenate([sums.free[:, slots], slack]))
    band = np.searchsorted(sums.edges, entries.priority[lower.at, lower.place])
    band[entries.kind[lower.at, lower.place] != EVICTABLE] = 0

    def with_more(columns: Ints, mine: Mask) -> Ints:
        more = np.zeros((len(sums.edges), len(slack), len(slots)), np.int64)
        for column in range(len(slack)):
            np.add.at(more[:, column], (band[mine], lower.at[mine]), takes[mine, column])
        whole = np.concatenate([columns[:, :, slots], more.cumsum(axis=0)], axis=1)
        return np.ascontiguousarray(whole)

    below = with_more(sums.below, np.ones(len(band), np.bool_))
    kept = below if sums.safe is sums.below else with_more(sums.safe, safe)
    return VictimSums(free, below, kept, sums.edges)
