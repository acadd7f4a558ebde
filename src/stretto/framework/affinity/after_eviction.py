"""Number of pods that the inter-pod rules allow on each node after evictions from that node.

Anti-affinity (in both directions) and hard topology spread limit the number of pods in the domain
of a node. An eviction from one node changes only the counts of the domains of that node, so each
rule acts as a resource: the number of additional pods that the domain allows. A pod uses one if the
rule counts it. Required affinity is the reverse: the evicted pods may be the only match.
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
"""The headroom of a rule that does not limit the number of pods."""


class DomainExcess(NamedTuple):
    """A rule that a domain violates if it has too many pods."""

    #: The kind of the rule.
    kind: ConstraintKind
    #: Number of its topology key.
    key: int
    #: The population that the rule counts.
    population: int
    #: int64[slot]: number of additional pods allowed with the incoming pod; negative: pods to
    #: evict.
    slack: Ints
    #: bool[slot]: true where the rule counts pods on the node itself.
    here: Mask


class RequiredAffinity(NamedTuple):
    """Required affinity: the pods that each domain of a node must have."""

    #: Population of the matching pods.
    population: int
    #: int64[slot]: smallest number of matching pods in a domain; for a host key, the number on the
    #: node.
    there: Ints
    #: Number of matching pods, by label.
    totals: tuple[int, ...]
    #: True if the pod may be the first one while no pod matches.
    may_be_first: bool

    def is_satisfied(self, gone: Ints) -> Mask:
        """bool[slot]: where a matching pod remains after the given number of evictions per node."""
        first = np.full(len(gone), self.may_be_first)
        for total in self.totals:
            first &= total == gone
        return np.asarray((self.there > gone) | first)


class EvictionPreview(NamedTuple):
    """The results of the inter-pod rules for one class on every node."""

    #: bool[slot]: nodes that have the labels that the rules require.
    open: Mask
    #: Rules that too many pods violate.
    counts: tuple[DomainExcess, ...]
    #: Required affinity; ``None`` without any.
    required: RequiredAffinity | None

    def passes(self) -> Mask:
        """bool[slot]: nodes that the rules allow for the class at present."""
        mask = self.open.copy()
        for each in self.counts:
            mask &= each.slack >= 0
        if self.required is not None:
            mask &= self.required.is_satisfied(np.zeros(len(mask), np.int64))
        return mask

    def could(self, view: DomainView) -> Mask:
        """bool[slot]: the same after eviction of all pods of a node, except required matches."""
        mask = self.open.copy()
        for each in self.counts:
            mask &= each.slack + np.where(each.here, view.state.pods[each.population], 0) >= 0
        if self.required is not None:
            mask &= self.required.is_satisfied(np.zeros(len(mask), np.int64))
        return mask


def eviction_preview(view: DomainView, class_id: int) -> EvictionPreview:
    """Compute the remaining counts of a compiled class on every slot of a view."""
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
            slack = np.where(labelled, -pods_at(table, state, each, slots), NO_LIMIT)
            counts.append(_domain_excess(table, each, slack, slots))
        elif each.kind is ConstraintKind.HARD:
            is_open &= labelled
            if each.tally != NO_TALLY:
                slack = _slack(table, state, each, slots)
                counts.append(_domain_excess(table, each, slack, slots))
    required = _affinity_of_class(table, state, near, slots) if near else None
    return EvictionPreview(is_open, tuple(counts), required)


def _domain_excess(
    table: DomainTable, each: DomainConstraint, slack: Ints, slots: Ints
) -> DomainExcess:
    population = int(table.tally_population[each.tally])
    return DomainExcess(each.kind, each.key, population, slack, _inside(table, each, slots))


def _inside(table: DomainTable, each: DomainConstraint, slots: Ints) -> Mask:
    """bool[slot]: nodes whose pods a constraint counts."""
    counts = table.mask[table.tally_mask[each.tally], slots] > 0
    return np.asarray(counts & (table.domain[each.key, slots] > 0))


def _slack(table: DomainTable, state: DomainState, each: DomainConstraint, slots: Ints) -> Ints:
    """int64[slot]: additional pods that a hard constraint allows in the domain of each slot.

    The minimum is taken over the *other* domains: a domain that is itself the minimum never exceeds
    the skew, and it is the only domain that evictions from the node change.
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
