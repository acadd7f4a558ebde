"""What rules between pods leave room for on every node, once pods of that node alone have left.

Anti-affinity (of either side) and hard spreading say that no more than so many pods may be in a
node's domain. Pods that leave one node change the count of that node's domains and of no other, so
each rule is an amount like any other: how many more may be there, of which a pod takes one if it
counts. Required affinity is the other way round: those who leave may be the only company.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.affinity.counts import DomainView
from stretto.framework.compiled.affinity import DomainConstraint, constraints_of, pods_at
from stretto.framework.compiled.domain_tables import (
    NO_TALLY,
    ConstraintKind,
    DomainState,
    DomainTable,
)

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NO_LIMIT: Final = 1 << 40
"""Room where any number of pods will do."""


class DomainExcess(NamedTuple):
    """One rule that too many pods in a node's domain break."""

    #: What kind of rule it is.
    kind: ConstraintKind
    #: Number of its topology key.
    key: int
    #: Who counts.
    population: int
    #: int64[slot]: how many more may be there beside the pod; negative where so many must leave.
    room: Ints
    #: bool[slot]: whether pods on the node itself count.
    here: Mask


class RequiredAffinity(NamedTuple):
    """Required affinity: who must be in each of a node's domains."""

    #: Who counts.
    population: int
    #: int64[slot]: how many there are in the domain with the fewest; the node's own count in all.
    there: Ints
    #: How many there are by each of the labels.
    totals: tuple[int, ...]
    #: Whether the pod may be the first where there is nobody.
    may_be_first: bool

    def is_satisfied(self, gone: Ints) -> Mask:
        """bool[slot]: where somebody is left once so many of each node have gone."""
        first = np.full(len(gone), self.may_be_first)
        for total in self.totals:
            first &= total == gone
        return np.asarray((self.there > gone) | first)


class EvictionPreview(NamedTuple):
    """What the rules between pods say of every node to one class."""

    #: bool[slot]: nodes that have the labels that the rules ask for.
    open: Mask
    #: Rules that too many pods break.
    counts: tuple[DomainExcess, ...]
    #: Required affinity; ``None`` without any.
    company: RequiredAffinity | None

    def passes(self) -> Mask:
        """bool[slot]: nodes that the rules let the class onto as things are."""
        mask = self.open.copy()
        for each in self.counts:
            mask &= each.room >= 0
        if self.company is not None:
            mask &= self.company.is_satisfied(np.zeros(len(mask), np.int64))
        return mask

    def could(self, view: DomainView) -> Mask:
        """bool[slot]: the same if all pods of a node left, but for company that must stay."""
        mask = self.open.copy()
        for each in self.counts:
            mask &= each.room + np.where(each.here, view.state.pods[each.population], 0) >= 0
        if self.company is not None:
            mask &= self.company.is_satisfied(np.zeros(len(mask), np.int64))
        return mask


def eviction_preview(view: DomainView, class_id: int) -> EvictionPreview:
    """What a compiled class is told of every slot by a view as it is."""
    table, state = view.table, view.state
    slots = np.arange(state.pods.shape[1])
    is_open, counts, near = (
        np.ones(len(slots), np.bool_),
        list[DomainExcess](),
        list[DomainConstraint](),
    )
    for each in constraints_of(table, class_id):
        labelled = table.domain[each.key, slots] > 0
        if each.kind is ConstraintKind.NEVER:
            is_open[:] = False
        elif each.kind is ConstraintKind.NEAR:
            is_open &= labelled
            near.append(each)
        elif each.kind is ConstraintKind.FAR and each.tally != NO_TALLY:
            room = np.where(labelled, -pods_at(table, state, each, slots), NO_LIMIT)
            counts.append(_domain_excess(table, each, room, slots))
        elif each.kind is ConstraintKind.HARD:
            is_open &= labelled
            if each.tally != NO_TALLY:
                room = _room(table, state, each, slots)
                counts.append(_domain_excess(table, each, room, slots))
    company = _affinity_of_class(table, state, near, slots) if near else None
    return EvictionPreview(is_open, tuple(counts), company)


def _domain_excess(
    table: DomainTable, each: DomainConstraint, room: Ints, slots: Ints
) -> DomainExcess:
    population = int(table.tally_population[each.tally])
    return DomainExcess(each.kind, each.key, population, room, _inside(table, each, slots))


def _inside(table: DomainTable, each: DomainConstraint, slots: Ints) -> Mask:
    """bool[slot]: nodes whose pods count for a constraint."""
    counts = table.mask[table.tally_mask[each.tally], slots] > 0
    return np.asarray(counts & (table.domain[each.key, slots] > 0))


def _room(table: DomainTable, state: DomainState, each: DomainConstraint, slots: Ints) -> Ints:
    """int64[slot]: how many more pods a hard constraint lets be in each slot's domain.

    Counted from the emptiest of the *other* domains: the own one is never too full when it is the
    emptiest itself, and it alone changes when pods of the node leave.
    """
    there = pods_at(table, state, each, slots)
    most = each.first - each.second - there
    if state.present[each.tally] < each.third:
        return most
    inside, domain = _inside(table, each, slots), table.domain[each.key, slots]
    if table.is_host[each.key]:
        values = there[inside]
    else:
        first, size = int(table.tally_offset[each.tally]), int(table.domains[each.key])
        present = state.nodes[first : first + size] > 0
        present[0] = False
        values = state.sums[first : first + size][present].astype(np.int64)
        inside = inside & present[domain]
    if not len(values):
        return most
    least = int(values.min())
    alone = np.count_nonzero(values == least) == 1
    second = int(values[values > least].min()) if alone and len(values) > 1 else NO_LIMIT
    others = np.where(inside & alone & (there == least), second, least)
    return np.asarray(np.minimum(most + others, NO_LIMIT))


def _affinity_of_class(
    table: DomainTable, state: DomainState, near: list[DomainConstraint], slots: Ints
) -> RequiredAffinity:
    there = np.min([pods_at(table, state, each, slots) for each in near], axis=0)
    totals = tuple(int(state.total[each.tally]) for each in near)
    population = int(table.tally_population[near[0].tally])
    return RequiredAffinity(population, np.asarray(there, np.int64), totals, near[0].first > 0)
