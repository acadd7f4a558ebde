"""The runtime of ``kube-parity``: places pods one by one, by kube-scheduler's own rules.

For each pod, the runtime scans a snapshot that follows the cluster, and assumes the pod there
before the next decision. An incomplete gang is removed completely. Rejected pods of one template
share the result until the next assumption, because nothing else can change it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.model.cached_facts import PodFactsCache
from stretto.framework.model.pod_facts import SchedulingFacts, TemplateKey
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.follower import ClusterFollower
from stretto.framework.parity.gang_orders import GangOrders, UnitAttempt
from stretto.framework.volume_binder.volumes import VolumeBinder, VolumeDecision
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.slots import BLOCK
from stretto.state.work.claims import PlacementFailure, VolumeChoice
from stretto.state.work.units import Cure

MANY: Final = 1 << 30
"""Capacity for a class; the value is unknown, because pods of one class may differ."""


class _ParityPlacement(NamedTuple):
    """A pod on the snapshot, with its volumes."""

    #: Row of the pod.
    row: int
    #: Slot of the pod.
    slot: int
    #: Volumes of the pod.
    found: VolumeDecision


class ParityRuntime:
    """Places pods by kube-scheduler's rules on one snapshot."""

    def __init__(self, cluster: Cluster, fact_cache: PodFactsCache) -> None:
        """Create a runtime with its own snapshot; the cache of pod facts is shared."""
        #: uint8[block]: blocks of the shard's own partition; they win ties.
        self.own_block: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: Pods in the form that the rules read.
        self.fact_cache = fact_cache
        #: Keeps the snapshot up to date with the cluster.
        self.follower = ClusterFollower(cluster, fact_cache)
        self._cluster = cluster
        self._orders = GangOrders(cluster, self._feasible)
        #: Amounts, generations and versions by slot.
        self.columns = self._orders.columns
        self._refused: dict[TemplateKey, PlacementFailure] = {}

    def sync(self) -> None:
        """Update the snapshot from the cluster."""
        self.columns.sync()
        if self.follower.sync():
            self._refused.clear()

    def capacity(self, class_id: int) -> int:
        """Return ``MANY``: the capacity is unknown, because pods of one class may differ."""
        return MANY

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the snapshot, in order; ``request.rows`` are the pods."""
        count, units = len(request.rows), len(request.at_least)
        run = _ParityRun(np.full(count, NOT_TRIED, np.int32), {}, {})
        blocking = request.blocking if len(request.blocking) else [False] * units
        tried = units
        for unit in range(units):
            start, stop = request.starts[unit], request.starts[unit + 1]
            if not self._place_unit(request, run, unit) and stop > start and blocking[unit]:
                tried = unit + 1
                break
        devices = np.zeros(count, np.int32)
        return BatchPlacement(run.slots, devices, tried, run.said, run.volumes, self.follower.basis)

    def hold(self, claims: Iterable[tuple[int, int]], going: Collection[int] = ()) -> bool:
        """Return whether every filter allows pods on slots, after the eviction of some pods.

        Args:
            claims: (row, slot) of each; earlier ones count as placed.
            going: rows of the evicted pods.
        """
        self.sync()
        return self._hold(list(claims), going)

    def hold_after_eviction(
        self, claims: Sequence[tuple[int, int]], evicted: Collection[int]
    ) -> bool:
        """True if every filter allows claims once their victims are gone, on the last ``sync``.

        The search for victims and the binder's judge use this method. Pods whose eviction from the
        slots of the claims is already in progress also count as gone. Promises count.

        Args:
            claims: (row, slot) of each; earlier ones count as placed.
            evicted: rows of the victims and of the claims that they displace.
        """
        on_slot = self._cluster.evictions.on_slot
        return self._hold(claims, {*evicted, *(r for _, slot in claims for r in on_slot(slot))})

    def _hold(self, claims: Sequence[tuple[int, int]], going: Collection[int]) -> bool:
        """Evaluate ``hold`` on the last ``sync``, with the promises made since."""
        mark = self.follower.promises
        with self.follower.without({*going, *(row for row, _ in claims)}):
            try:
                for row, slot in claims:
                    if not self._is_allowed(row, slot):
                        return False
                    if len(claims) > 1:
                        self.follower.promise(row, slot, is_there=True)
            finally:
                self.follower.withdraw_promise(mark)
        return True

    def _is_allowed(self, row: int, slot: int) -> bool:
        """Return whether every filter allows a pod on a slot of the snapshot."""
        decision = self._decide(self.fact_cache.facts(row))
        at = self.follower.snapshot.nodes.index.get(self._cluster.nodes.names[slot])
        return at is not None and at in decision.feasible

    def volumes_of(self, row: int, slot: int) -> VolumeChoice | None:
        """The work of the binder for the volumes of a pod on a slot; ``None`` for nothing."""
        self.sync()
        facts, snapshot = self.fact_cache.facts(row), self.follower.snapshot
        claims = [(facts.namespace, name) for name, _ in facts.pvc_names()]
        if not claims or not all(key in snapshot.objects.pvcs for key in claims):
            return None
        at = snapshot.nodes.index[self._cluster.nodes.names[slot]]
        return VolumeBinder.of(facts, snapshot).find(at).choice

    def best(self, decision: Decision, pin: int = NO_SLOT) -> int:
        """The slot with the best total; ties: the shard's own partition, then the first name."""
        feasible, slots = decision.feasible, self.slots()
        if pin != NO_SLOT:
            return pin if pin in slots[feasible] else NO_SLOT
        if not len(feasible):
            return NO_SLOT
        top = slots[feasible[decision.total == decision.total.max()]]
        rank = self._cluster.nodes.name_rank[top]
        blocks = top // BLOCK
        if len(self.own_block) > int(blocks.max()):
            own = self.own_block[blocks] > 0
            if own.any():
                top, rank = top[own], rank[own]
        return int(top[rank.argmin()])

    def slots(self) -> npt.NDArray[np.int64]:
        """int64[n]: slot of each node of the snapshot."""
        nodes, by_name = self.follower.snapshot.nodes, self._cluster.nodes.by_name
        return nodes.kept("slots", lambda: np.array([by_name[n] for n in nodes.names], np.int64))

    def _place_unit(self, request: PlacementRequest, run: "_ParityRun", unit: int) -> bool:
        """Place one unit by the first attempt that succeeds; return whether one did."""
        return any(
            self._try(request, run, unit, attempt)
            for attempt in self._orders.of(request, unit, run.slots)
        )

    def _try(
        self, request: PlacementRequest, run: "_ParityRun", unit: int, attempt: UnitAttempt
    ) -> bool:
        """Place a unit with one attempt, or revert everything; returns whether it was placed."""
        start, stop = request.starts[unit], request.starts[unit + 1]
        placed: list[_ParityPlacement] = []
        for at, member in enumerate(attempt.order):
            i = start + member
            if stop - start - at + len(placed) < attempt.goal:
                break
            pin = int(request.pins[i]) if len(request.pins) else NO_SLOT
            pin = int(attempt.slots[at]) if attempt.slots else pin
            found = self._place_one(int(request.rows[i]), pin)
            if isinstance(found, PlacementFailure):
                run.slots[i], run.said[i] = NO_SLOT, found
                continue
            placed.append(found)
            run.slots[i] = found.slot
            run.said.pop(i, None)
            chosen = found.found.choice
            if chosen is not None:
                run.volumes[i] = chosen
        if placed and len(placed) >= attempt.goal:
            return True
        for each in reversed(placed):
            self.follower.forget(each.row, each.slot, each.found)
        run.slots[start:stop] = NO_SLOT
        for i in range(start, stop):
            run.volumes.pop(i, None)
        return False

    def _feasible(self, row: int) -> npt.NDArray[np.int64]:
        """int64[k]: slots that accept the pod of a row now."""
        if self.fact_cache.fault(row):
            return np.zeros(0, np.int64)
        return self.slots()[self._decide(self.fact_cache.facts(row)).feasible]

    def _place_one(self, row: int, pin: int) -> "_ParityPlacement | PlacementFailure":
        """Decide one pod and assume it on the best node, or return the failure."""
        facts = self.fact_cache.facts(row)
        if fault := self.fact_cache.fault(row):
            return PlacementFailure(Cure.POD_CHANGED, f"the pod cannot be read: {fault}")
        template = facts.template_key() if pin == NO_SLOT else None
        if template in self._refused:
            return self._refused[template]
        decision = self._decide(facts)
        slot = self.best(decision, pin)
        if slot == NO_SLOT:
            said = PlacementFailure(decision.cures(), decision.message)
            if template is not None:
                self._refused[template] = said
            return said
        self._refused.clear()
        return _ParityPlacement(row, slot, self.follower.assume(decision, row, slot))

    def _decide(self, facts: SchedulingFacts) -> Decision:
        return self.follower.scheduler.decide_facts(facts, may_preempt=False)


class _ParityRun(NamedTuple):
    """The results of one call of ``place`` so far."""

    #: int32[pod]: slots.
    slots: npt.NDArray[np.int32]
    #: Failures, by index of the pod.
    said: dict[int, PlacementFailure]
    #: Volumes, by index of the pod.
    volumes: dict[int, VolumeChoice]
