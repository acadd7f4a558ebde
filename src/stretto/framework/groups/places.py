"""Where a gang may go: racks, switches or zones in the order in which they are tried.

A PodGroup's affinity names node labels. The values of the required ones, taken together, are the
domains of which the whole gang gets one; the preferred ones cut these into smaller domains, tried
first. Domains of one level are tried in the order of the group's sort rules (by default those with
the least CPU first: the smallest that holds the gang), and those whose nodes could not hold it even
when idle, or have too little free in all, are left out. Where pods of the gang run already, only
the domains that have all of them count.

Nothing is walked node by node: sums over domains are counts over label columns.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import PodGroup, PodGroupAffinity, PodGroupSortRule
from stretto.api.wire.selectors import node_terms
from stretto.state.classes.annotations import GPU
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.rows.snapshot import Columns

SlotArray = npt.NDArray[np.int64]
SMALLEST_FIRST: Final = PodGroupSortRule("CPU", "Capacity", "Ascending")
"""The rule where a group gives none."""
RESOURCES: Final = {"CPU": CPU, "Memory": MEMORY, "GPU": -1}
"""Resources of sort rules by their scan column; GPUs are counted by device."""
SPLIT: Final = "its pods run in different values of the required node labels"
NO_SLOTS: Final = np.zeros(0, np.int32)
"""No slot at all."""
NOWHERE: Final = "no node has the required node labels"


class DomainLevel(NamedTuple):
    """The domains that some node labels cut the nodes into."""

    #: int32[slot]: domain of each slot; -1 where a label is missing.
    domain: npt.NDArray[np.int32]
    #: Number of domains.
    domains: int
    #: int32[k]: slots in a domain, domain after domain.
    slots: npt.NDArray[np.int32]
    #: int64[domain + 1]: first slot of each domain.
    start: npt.NDArray[np.int64]


class GangDemand(NamedTuple):
    """What a gang asks in all, in scan steps."""

    #: (column, amount) of the pods that must fit.
    amounts: Sequence[tuple[int, int]]
    #: Milli of GPUs of the pods that must fit.
    gpu_milli: int = 0


class RankedDomains(NamedTuple):
    """Domains of one level in an order."""

    #: The level.
    level: DomainLevel
    #: int64[k]: domains.
    order: npt.NDArray[np.int64]
    #: bool[slot]: slots of them that count; ``None`` for all.
    allowed: npt.NDArray[np.bool_] | None


class DomainOrder:
    """Domains in the order in which they are tried; their slots are listed once they are asked."""

    def __init__(self, ranked: Sequence[RankedDomains], fault: str = "") -> None:
        """Domains level by level, or why there is none."""
        self._ranked = ranked
        #: Why there is none; empty where there is.
        self.fault = fault

    @cached_property
    def _listed(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        parts = [_slots_of(*each) for each in self._ranked]
        start = np.concatenate([[0], *(counts for _, counts in parts)]).cumsum().astype(np.int32)
        return np.concatenate([NO_SLOTS, *(slots for slots, _ in parts)]), start

    @property
    def slots(self) -> npt.NDArray[np.int32]:
        """int32[k]: slots, domain after domain."""
        return self._listed[0]

    @property
    def start(self) -> npt.NDArray[np.int32]:
        """int32[domain + 1]: first slot of each."""
        return self._listed[1]

    def parts(self, first: int) -> Iterator["DomainOrder"]:
        """The first domains, so many at most, and then all others."""
        if not self._ranked:
            yield self
            return
        best, *others = self._ranked
        if len(best.order) <= 2 * first:
            yield self
            return
        yield DomainOrder([best._replace(order=best.order[:first])])
        yield DomainOrder([best._replace(order=best.order[first:]), *others])


class _GangFit(NamedTuple):
    """What a gang asks and what there is."""

    #: What the pods that must fit ask in all.
    wanted: GangDemand
    #: The snapshot's amounts.
    columns: Columns
    #: Whether what nodes have counts, in place of what they have free.
    when_idle: bool


class GangDomains:
    """Domains of node labels, kept until nodes change."""

    def __init__(self, nodes: NodeFacts) -> None:
        """Over the nodes of a cluster."""
        self._nodes = nodes
        self._levels: dict[tuple[str, ...], DomainLevel] = {}
        self._version = -1

    def level(self, keys: tuple[str, ...]) -> DomainLevel:
        """The domains of some node labels taken together; all nodes are one where there is none."""
        if self._version != self._nodes.version:
            self._levels.clear()
            self._version = self._nodes.version
        found = self._levels.get(keys)
        if found is None:
            self._levels[keys] = found = self._cut(keys)
        return found

    def places(
        self,
        group: PodGroup,
        bound: SlotArray,
        wanted: GangDemand,
        columns: Columns,
        *,
        when_idle: bool = False,
    ) -> DomainOrder:
        """Where a gang may go, or might go once others have left.

        Args:
            group: the gang's PodGroup.
            bound: slots that its pods are on already.
            wanted: what the pods that must fit ask in all.
            columns: the snapshot's amounts.
            when_idle: whether what nodes have counts, in place of what they have free.
        """
        affinity = affinity_of(group)
        required = tuple(term.topology_key for term in affinity.required)
        preferred = tuple(term.topology_key for term in affinity.preferred)
        allowed = self._allowed(affinity, group)
        levels = [required + preferred[:n] for n in range(len(preferred), -1, -1)]
        if required and len(bound):
            home = self.level(required).domain[bound]
            if (home != home[0]).any():
                return DomainOrder([], SPLIT)
        if required and not self.level(required).domains:
            return DomainOrder([], NOWHERE)
        ranked: list[RankedDomains] = []
        for keys in levels:
            level = self.level(keys)
            order = self._order(level, affinity, _GangFit(wanted, columns, when_idle), allowed)
            if len(bound):
                home = level.domain[bound]
                order = order[order == home[0]] if (home == home[0]).all() else order[:0]
            ranked.append(RankedDomains(level, order, allowed))
        return DomainOrder(ranked)

    def _allowed(self, affinity: PodGroupAffinity, group: PodGroup) -> npt.NDArray[np.bool_] | None:
        """bool[slot]: nodes that the group's own selector lets it go to; ``None`` for all."""
        if affinity.node_selector is None:
            return None
        where = f"PodGroup {group.metadata.namespace}/{group.metadata.name}: nodeSelector"
        terms = node_terms(affinity.node_selector, where)
        mask = np.zeros(self._nodes.size, np.bool_)
        live = self._nodes.live_slots()
        mask[live] = self._nodes.matches(terms, live)
        return mask

    def _cut(self, keys: tuple[str, ...]) -> DomainLevel:
        live = self._nodes.live > 0
        code = np.where(live, 0, -1).astype(np.int64)
        for key in keys:
            column = self._nodes.labels.column(key)[: len(code)].astype(np.int64)
            code = np.where((code >= 0) & (column > 0), code * (int(column.max()) + 1) + column, -1)
            _, dense = np.unique(code, return_inverse=True)
            code = np.where(code >= 0, dense, -1)
        values, dense = np.unique(code, return_inverse=True)
        offset = int(len(values) > 0 and values[0] < 0)
        domain = (dense - offset).astype(np.int32)
        count = len(values) - offset
        order = np.argsort(domain, kind="stable").astype(np.int32)
        order = order[np.searchsorted(domain[order], 0) :]
        sizes = np.bincount(domain[order], minlength=count)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return DomainLevel(domain, count, order, start)

    def _order(
        self,
        level: DomainLevel,
        affinity: PodGroupAffinity,
        room: _GangFit,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> npt.NDArray[np.int64]:
        """Domains that may hold the gang, in the order of its sort rules."""
        rules, wanted, columns = affinity.sort_rules, room.wanted, room.columns

        def total(column: int, *, free: bool) -> npt.NDArray[np.int64]:
            return _sums(level, _column(columns, column, free=free), allowed)

        holds = np.ones(level.domains, np.bool_)
        if allowed is not None:
            holds = _sums(level, np.ones(columns.size, np.int32), allowed) > 0
        for column, amount in (*wanted.amounts, (-1, wanted.gpu_milli)):
            if amount > 0:
                holds &= total(column, free=not room.when_idle) >= amount
        keys = []
        for rule in rules or (SMALLEST_FIRST,):
            if rule.resource not in RESOURCES:
                continue
            value = total(RESOURCES[rule.resource], free=rule.dimension == "Available")
            keys.append(-value if rule.order == "Descending" else value)
        candidates = np.flatnonzero(holds)
        if not keys:
            return candidates
        return candidates[np.lexsort([key[candidates] for key in reversed(keys)])]


def affinity_of(group: PodGroup | None) -> PodGroupAffinity:
    """A group's affinity to places; an empty one where it has none."""
    affinity = group.spec.affinity if group is not None else None
    return (affinity.pod_group_affinity if affinity is not None else None) or PodGroupAffinity()


def is_directed(group: PodGroup) -> bool:
    """Whether a group says where it goes as a whole."""
    affinity = affinity_of(group)
    return bool(affinity.required or affinity.preferred or affinity.node_selector is not None)


def _column(columns: Columns, column: int, *, free: bool) -> npt.NDArray[np.int32]:
    """int32[slot]: what nodes have, or have free, of a resource; GPUs in milli."""
    if column >= 0:
        amounts = columns.free[column] if free else columns.alloc[column]
        return np.asarray(np.maximum(amounts, np.int32(0)), np.int32)
    known = columns.ledger.resources.known(GPU)
    if known is not None:
        return np.asarray(_column(columns, known, free=free) * np.int32(1000), np.int32)
    gpus = columns.device_kind == columns.ledger.devices.kind_number(GPU)
    amounts = np.where(gpus, columns.device_free if free else 1000, 0)
    return np.asarray(amounts.sum(axis=1), np.int32)


def _sums(
    level: DomainLevel, amounts: npt.NDArray[np.int32], allowed: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.int64]:
    """int64[domain]: what the slots of each that count have in all."""
    if not level.domains:
        return np.zeros(0, np.int64)
    each = amounts.take(level.slots)
    if allowed is not None:
        each[~allowed[level.slots]] = 0
    return np.add.reduceat(each, level.start[:-1], dtype=np.int64)  # none is without a slot


def _slots_of(
    level: DomainLevel, order: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The slots of some domains, one after another, and how many each has."""
    counts = level.start[order + 1] - level.start[order]
    ends = np.cumsum(counts)
    shift = np.repeat(level.start[order] - (ends - counts), counts)
    slots = level.slots[np.arange(int(counts.sum())) + shift]
    if allowed is None:
        return slots, counts
    keep = allowed[slots]
    owner = np.repeat(np.arange(len(order)), counts)[keep]
    return slots[keep], np.bincount(owner, minlength=len(order)).astype(np.int64)
