"""Simulates preemption node by node: exact for every kind of request, slower than the victim index.

Nodes are visited by the lowest priority band that frees enough resources, so nodes of a higher band
are evaluated only while they can still be better.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.one_node import (
    NOTHING_PROMISED,
    Holds,
    Key,
    NodePromises,
    PreemptionDryRun,
    Preemptor,
    VictimCandidate,
)
from stretto.framework.kernels.numpy.victims import NO_TOP, VictimDemand
from stretto.framework.preemption.other_pods import PromisedCandidate
from stretto.framework.preemption.terms import NodeProtection
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.columns import edges_of
from stretto.state.victims.index import Victims
from stretto.state.victims.rules import PreemptionRules
from stretto.state.work.evictions import EvictionState


class SearchContext(NamedTuple):
    """Parameters of one search besides the cluster."""

    #: Clock time in seconds.
    now: float
    #: Rows that must not be evicted.
    kept: Collection[int]
    #: The promises of the cycle.
    taken: Sequence[PromisedCandidate]
    #: Evaluates inter-pod rules; ``None`` if the preemptor has none.
    holds: Holds | None = None
    #: Number of candidate nodes to evaluate.
    most: int = 1 << 30
    #: Nodes and pods that guarantees protect; ``None`` if they protect no pod.
    protection: NodeProtection | None = None


class BandSums(NamedTuple):
    """Amounts that evictions free, by priority band."""

    #: int64[band]: highest priority of each band, ascending.
    edges: npt.NDArray[np.int64]
    #: int64[band, column of the demand, slot]: amounts of the pods up to a band.
    below: npt.NDArray[np.int64]


class PerNodeSearch:
    """Finds the best node by simulating each."""

    def __init__(
        self, cluster: Cluster, rules: PreemptionRules, budgets: BudgetLedger, victims: Victims
    ) -> None:
        """Search on a cluster and its victim index."""
        self._cluster = cluster
        self._rules = rules
        self._budgets = budgets
        self._victims = victims

    def best(
        self, preemptor: Preemptor, wanted: VictimDemand, given: SearchContext
    ) -> VictimCandidate | None:
        """Return the best of the nodes that admit a preemptor and have enough resources."""
        rehearsal, promised = self._dry_run(given), self._promised(given.taken)
        best: tuple[tuple[Key, int], VictimCandidate] | None = None
        looked = 0
        kept_on = given.protection.kept_on if given.protection is not None else lambda _: ()
        for top, slots in self._by_band(wanted, self._sums(wanted, given)):
            for slot in slots.tolist():
                here = promised.get(slot, NOTHING_PROMISED)
                kept = {*given.kept, *kept_on(slot)}
                found = rehearsal.on_slot(preemptor, slot, kept, here)
                if found is None:
                    continue
                looked += 1
                order = (rehearsal.key(found), slot)
                if best is None or order < best[0]:
                    best = order, found
                if looked >= given.most or not found.evicted_pods:
                    return best[1]
            if best is not None and _is_final(rehearsal.key(best[1]), top):
                break
        return None if best is None else best[1]

    def better(
        self, one: VictimCandidate | None, other: VictimCandidate | None, given: SearchContext
    ) -> VictimCandidate | None:
        """Return the better of two results; the lower slot on a tie."""
        if one is None or other is None:
            return one if other is None else other
        rehearsal = self._dry_run(given)
        return min((one, other), key=lambda each: (rehearsal.key(each), each.slot))

    def _dry_run(self, given: SearchContext) -> PreemptionDryRun:
        return PreemptionDryRun(self._cluster, self._rules, self._budgets, given.now, given.holds)

    def _by_band(
        self, wanted: VictimDemand, sums: BandSums
    ) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """(highest priority, nodes) by the lowest priority band that frees enough resources."""
        seen = np.zeros(len(wanted.admitted), np.bool_)
        for top, below in zip(sums.edges.tolist(), sums.below, strict=True):
            mask = wanted.admitted.astype(np.bool_) & ~seen
            for at, (column, need) in enumerate(zip(wanted.columns, wanted.need, strict=True)):
                mask &= self._victims.sums.free[column] + below[at] >= need
            seen |= mask
            yield top, np.flatnonzero(mask)

    def _sums(self, wanted: VictimDemand, given: SearchContext) -> BandSums:
        """Amounts that evictions free, by band."""
        sums = self._victims.sums
        if given.protection is None:
            edges = sums.edges[: wanted.bands]
            return BandSums(edges, sums.below[: wanted.bands, wanted.columns])
        return self._evictable_sums(wanted, given, given.protection)

    def _evictable_sums(
        self, wanted: VictimDemand, given: SearchContext, protection: NodeProtection
    ) -> BandSums:
        """Amounts freed by pods that no guarantee protects.

        The first band has no victims: it counts pods whose eviction is in progress, and claims that
        wait for their own victims.
        """
        pods, classes = self._cluster.pods, self._cluster.classes
        rows = protection.rows[~np.isin(protection.rows, [*self._gone(given)])]
        going = np.array(
            [
                row
                for row in self._cluster.evictions.in_progress
                if int(pods.eviction_state[row]) == EvictionState.EVICTING
                and pods.slot[row] != NO_SLOT
                and pods.priority[row] < wanted.priority
            ],
            np.int64,
        )
        costs = pods.state[rows] != PodState.NOMINATED
        edges = edges_of(pods.priority[rows[costs]])
        bands = np.concatenate(
            [
                np.where(costs, np.searchsorted(edges, pods.priority[rows]) + 1, 0),
                np.zeros(len(going), np.int64),
            ]
        )
        both = np.concatenate([rows, going])
        amounts = classes.requests_of(pods.class_id[both])
        below = np.zeros((len(edges) + 1, len(wanted.columns), len(wanted.admitted)), np.int64)
        for at, column in enumerate(wanted.columns.tolist()):
            here = np.ones(len(both), np.bool_)
            if protection.columns is not None and column not in protection.columns:
                here[: len(rows)] = False
            slots = pods.slot[both[here]]
            np.add.at(below[:, at], (bands[here], slots), amounts[here, column])
        np.cumsum(below, axis=0, out=below)
        return BandSums(np.concatenate([[NO_TOP], edges]), below)

    def _gone(self, given: SearchContext) -> set[int]:
        """Rows whose capacity the promises of the cycle already use."""
        return {row for each in given.taken for row in each.candidate.evicted_pods}

    def _promised(self, taken: Sequence[PromisedCandidate]) -> dict[int, NodePromises]:
        """The promises of a cycle by node, including the additional victims of a gang."""
        claims: dict[int, list[tuple[int, int]]] = {}
        going: dict[int, list[int]] = {}
        for each in taken:
            slot = each.candidate.slot
            claims.setdefault(slot, []).append((each.class_id, each.candidate.devices))
            for row in each.candidate.evicted_pods:
                going.setdefault(int(self._cluster.pods.slot[row]), []).append(row)
        return {
            slot: NodePromises(tuple(claims.get(slot, ())), frozenset(going.get(slot, ())))
            for slot in claims.keys() | going.keys()
        }


def _is_final(key: Key, top: int) -> bool:
    """Return whether no node that needs victims above a priority can be better."""
    return key[0] == 0 and key[1] <= top
