"""The topology domains for a gang: racks, switches or zones in the order of the attempts.

The affinity of a PodGroup names node labels. The combined values of the required labels form the
domains, and the whole gang is placed in one of them. The preferred labels split these domains into
smaller ones, which are tried first. The sort rules of the group order the domains of one level (by
default the least CPU first: the smallest domain that fits the gang). Domains whose nodes could not
fit the gang even when idle, or whose free amounts are too small in total, are excluded. If pods of
the gang already run, only the domains that contain all of them count.

There is no loop over nodes: sums over domains are counts over label columns.
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
"""Sort rule of a group without sort rules."""
RESOURCES: Final = {"CPU": CPU, "Memory": MEMORY, "GPU": -1}
"""Resources of sort rules by their scan column; GPUs are counted by device."""
SPLIT: Final = "its pods run in different values of the required node labels"
NO_SLOTS: Final = np.zeros(0, np.int32)
"""An empty list of slots."""
NOWHERE: Final = "no node has the required node labels"


class DomainLevel(NamedTuple):
    """The domains into which some node labels partition the nodes."""

    #: int32[slot]: domain of each slot; -1 where a label is missing.
    domain: npt.NDArray[np.int32]
    #: Number of domains.
    domains: int
    #: int32[k]: slots in a domain, domain after domain.
    slots: npt.NDArray[np.int32]
    #: int64[domain + 1]: first slot of each domain.
    start: npt.NDArray[np.int64]


class GangDemand(NamedTuple):
    """The total requests of a gang, in scan steps."""

    #: (column, amount) of the pods that must fit.
    amounts: Sequence[tuple[int, int]]
    #: GPUs, in thousandths, of the pods that must fit.
    gpu_milli: int = 0


class RankedDomains(NamedTuple):
    """Domains of one level, in order."""

    #: The level.
    level: DomainLevel
    #: int64[k]: domains.
    order: npt.NDArray[np.int64]
    #: bool[slot]: the slots that count; ``None`` for all.
    allowed: npt.NDArray[np.bool_] | None


class DomainOrder:
    """Domains in the order of the attempts; their slots are listed on demand."""

    def __init__(self, ranked: Sequence[RankedDomains], fault: str = "") -> None:
        """Store domains level by level, or the reason why there are none."""
        self._ranked = ranked
        #: Reason why there are no domains; empty if there are some.
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
        """Split into the first ``first`` domains and all others."""
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
    """The requests of a gang and the available amounts."""

    #: Total requests of the pods that must fit.
    wanted: GangDemand
    #: The amounts of the snapshot.
    columns: Columns
    #: True to use allocatable amounts instead of free ones.
    when_idle: bool


class GangDomains:
    """Domains of node labels, cached until nodes change."""

    def __init__(self, nodes: NodeFacts) -> None:
        """Use the nodes of a cluster."""
        self._nodes = nodes
        self._levels: dict[tuple[str, ...], DomainLevel] = {}
        self._version = -1

    def level(self, keys: tuple[str, ...]) -> DomainLevel:
        """The domains of some node labels combined; without labels, all nodes form one domain."""
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
        """Domains that a gang may use, or could use after evictions.

        Args:
            group: the PodGroup of the gang.
            bound: slots of its placed pods.
            wanted: total requests of the pods that must fit.
            columns: the amounts of the snapshot.
            when_idle: true to use allocatable amounts instead of free ones.
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
        """bool[slot]: nodes that match the group's own selector; ``None`` for all."""
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
        fit: _GangFit,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> npt.NDArray[np.int64]:
        """Domains that may fit the gang, in the order of its sort rules."""
        rules, wanted, columns = affinity.sort_rules, fit.wanted, fit.columns

        def total(column: int, *, free: bool) -> npt.NDArray[np.int64]:
            return _sums(level, _column(columns, column, free=free), allowed)

        holds = np.ones(level.domains, np.bool_)
        if allowed is not None:
            holds = _sums(level, np.ones(columns.size, np.int32), allowed) > 0
        for column, amount in (*wanted.amounts, (-1, wanted.gpu_milli)):
            if amount > 0:
                holds &= total(column, free=not fit.when_idle) >= amount
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
    """Topology affinity of a group; empty if the group has none."""
    affinity = group.spec.affinity if group is not None else None
    return (affinity.pod_group_affinity if affinity is not None else None) or PodGroupAffinity()


def is_directed(group: PodGroup) -> bool:
    """Return whether a group restricts its placement as a whole."""
    affinity = affinity_of(group)
    return bool(affinity.required or affinity.preferred or affinity.node_selector is not None)


def _column(columns: Columns, column: int, *, free: bool) -> npt.NDArray[np.int32]:
    """int32[slot]: allocatable or free amount of a resource; GPUs in thousandths."""
    if column >= 0:
        amounts = columns.free[column] if free else columns.alloc[column]
        return np.asarray(np.maximum(amounts, np.int32(0)), np.int32)
    gpus = columns.device_kind == columns.ledger.devices.kind_number(GPU)
    known = columns.ledger.resources.known(GPU)
    if known is not None and not gpus.any():
        return np.asarray(_column(columns, known, free=free) * np.int32(1000), np.int32)
    amounts = np.where(gpus, columns.device_free if free else 1000, 0)
    return np.asarray(amounts.sum(axis=1), np.int32)


def _sums(
    level: DomainLevel, amounts: npt.NDArray[np.int32], allowed: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.int64]:
    """int64[domain]: total over the counted slots of each domain."""
    if not level.domains:
        return np.zeros(0, np.int64)
    each = amounts.take(level.slots)
    if allowed is not None:
        each[~allowed[level.slots]] = 0
    return np.add.reduceat(each, level.start[:-1], dtype=np.int64)  # no domain is empty


def _slots_of(
    level: DomainLevel, order: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The slots of some domains, concatenated, and the number of slots of each."""
    counts = level.start[order + 1] - level.start[order]
    ends = np.cumsum(counts)
    shift = np.repeat(level.start[order] - (ends - counts), counts)
    slots = level.slots[np.arange(int(counts.sum())) + shift]
    if allowed is None:
        return slots, counts
    keep = allowed[slots]
    owner = np.repeat(np.arange(len(order)), counts)[keep]
    return slots[keep], np.bincount(owner, minlength=len(order)).astype(np.int64)
