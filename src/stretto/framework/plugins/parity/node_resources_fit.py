"""NodeResourcesFit: the requests of a pod are free; the largest free share scores best.

A request above the allocatable amount is unresolvable. The score counts a container without
requests as 100m and 200Mi, and ignores pod-level requests.
"""

from typing import Final

import numpy as np

from stretto.framework.contract.rule import FilterPlugin, NodeCheck, NodeDryRun, ScorePlugin
from stretto.framework.model.normalise import TOP, at
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.requests import CPU, MEMORY, STORAGE, is_scalar
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SUCCESS,
    BoolArray,
    IntArray,
    NodeStatuses,
    PluginStatus,
    StatusCode,
)
from stretto.framework.plugins.fit import INSUFFICIENT, TOO_MANY_PODS, NodeResourcesFitRule

BASIC: Final = (CPU, MEMORY, STORAGE)


class NodeResourcesFitPlugin(FilterPlugin, ScorePlugin, declares=NodeResourcesFitRule):
    """Refuses full nodes, prefers empty ones."""

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Statuses of nodes that lack a resource."""
        return FitCheck(pod, snapshot)

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Scores: mean of the free shares of cpu and memory, rounded down twice."""
        cpu, memory = pod.shape.fit_score
        pairs = (
            (snapshot.nodes.amount(CPU), snapshot.seen_cpu, cpu),
            (snapshot.nodes.amount(MEMORY), snapshot.seen_memory, memory),
        )
        total = np.zeros(len(feasible), np.int64)
        counted = np.zeros(len(feasible), np.int64)
        for allocatable, seen, requested in pairs:
            has = at(allocatable, feasible)
            free = has - at(seen, feasible) - requested
            total += np.maximum(free, 0) * TOP // np.maximum(has, 1)
            counted += has != 0
        return total // np.maximum(counted, 1)


class FitCheck(NodeCheck):
    """The requests of one pod against all nodes."""

    def __init__(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> None:
        """Collect the requests."""
        requests = pod.shape.filter_requests
        basic = [(name, requests.get(name, 0)) for name in BASIC]
        scalars = sorted((name, each) for name, each in requests.items() if is_scalar(name))
        #: Requested resources in the order of the reasons, with the amounts.
        self.requested = [(name, each) for name, each in (*basic, *scalars) if each > 0]
        self._snapshot = snapshot

    def verdict(self) -> NodeStatuses | None:
        """Statuses; each shortage of a node is a bit, and so is unresolvability."""
        nodes, snapshot = self._snapshot.nodes, self._snapshot
        full = snapshot.pod_count + 1 > nodes.pods_allowed
        lacks: list[tuple[int, BoolArray]] = []
        refused = full
        for bit, (name, amount) in enumerate(self.requested):
            short = amount > nodes.amount(name) - snapshot.used_of(name)
            lacks.append((bit, short))
            refused = refused | short
        if not refused.any():
            return None
        which = full.astype(np.int64) << 1
        for bit, short in lacks:
            name, amount = self.requested[bit]
            which |= short.astype(np.int64) << (bit + 2)
            which |= short & (amount > nodes.amount(name))
        return NodeStatuses(refused, which, self._status)

    def trial(self, node: int) -> NodeDryRun:
        """A dry run over the amounts of the node."""
        return FitDryRun(self, self._snapshot, node)

    def status_of(self, full: bool, short: list[bool], for_good: bool) -> PluginStatus:
        """Status of a node with these shortages."""
        reasons = [TOO_MANY_PODS] if full else []
        reasons += [
            INSUFFICIENT.format(name)
            for (name, _), lacking in zip(self.requested, short, strict=True)
            if lacking
        ]
        if not reasons:
            return SUCCESS
        return PluginStatus(
            StatusCode.UNRESOLVABLE if for_good else StatusCode.UNSCHEDULABLE, tuple(reasons)
        )

    def _status(self, bits: int) -> PluginStatus:
        short = [bool(bits >> (bit + 2) & 1) for bit in range(len(self.requested))]
        return self.status_of(bool(bits & 2), short, bool(bits & 1))


class FitDryRun(NodeDryRun):
    """The amounts on one node."""

    def __init__(self, check: FitCheck, snapshot: ParitySnapshot, node: int) -> None:
        """Start with all pods on the node."""
        nodes = snapshot.nodes
        self._check = check
        self._has = [int(nodes.amount(name)[node]) for name, _ in check.requested]
        self._used = [int(snapshot.used_of(name)[node]) for name, _ in check.requested]
        self._pods = int(snapshot.pod_count[node])
        self._allowed = int(nodes.pods_allowed[node])

    def remove(self, pod: SchedulingFacts) -> None:
        """Remove a pod from the node."""
        self._count(pod, -1)

    def add(self, pod: SchedulingFacts) -> None:
        """Add a pod to the node."""
        self._count(pod, 1)

    def status(self) -> PluginStatus:
        """Status for the current amounts."""
        requested = [amount for _, amount in self._check.requested]
        rows = list(zip(requested, self._has, self._used, strict=True))
        short = [amount > has - used for amount, has, used in rows]
        for_good = any(amount > has for (amount, has, _), s in zip(rows, short, strict=True) if s)
        return self._check.status_of(self._pods + 1 > self._allowed, short, for_good)

    def _count(self, pod: SchedulingFacts, by: int) -> None:
        amounts = pod.shape.running[0]
        self._pods += by
        for place, (name, _) in enumerate(self._check.requested):
            self._used[place] += by * amounts.get(name, 0)
