"""The rounds of a tidal pool: begins the switches of some nodes and continues those of others.

A node that becomes online immediately excludes new offline pods. Its offline pods are evicted
within their budgets while online pods need the node. When no offline pod remains, the node gets the
taint of the pool.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from stretto.base.clock import Clock, timestamp, timestamp_or_none
from stretto.capacity.tides.members import PoolMembers
from stretto.capacity.tides.pods import PendingOnline, TidePods
from stretto.capacity.tides.pool import SWITCHED, NodeRole, TidePool
from stretto.capacity.tides.switching import (
    Candidate,
    Placements,
    PodName,
    SwitchChoice,
    choose_online,
)
from stretto.capacity.tides.words import NodeSwitch
from stretto.reconcile.cache import StoreCache, StoredObject

PERIOD_S: Final = 10.0
"""Seconds between two rounds of a pool, as in Katalyst."""
TRIED_AGAIN_S: Final = 60.0
"""Seconds before a trial that helped no pod is repeated on the same pods and nodes."""
OFFLINE_HOLD_S: Final = 120.0
"""Seconds for which a node stays offline after a switch, so that offline pods can start."""


class TideTrial(Protocol):
    """The scheduler on a copy of the state."""

    def __call__(
        self, nodes: Mapping[str, Mapping[str, Any]], removed: Sequence[PodName]
    ) -> Placements:
        """Return the nodes of pending pods after merge patches of nodes, and without some pods."""
        ...


class TideRounds:
    """Continues the switches of pools and begins others."""

    def __init__(self, cache: StoreCache, clock: Clock, trial: TideTrial) -> None:
        """Run the rounds of the pools of a cluster.

        Args:
            cache: caches of the cluster's store.
            clock: wall time.
            trial: the scheduler on a copy of the state.
        """
        self._clock = clock
        self._trial = trial
        self._pods = TidePods(cache)
        #: Wall time since which each node has had no online pods.
        self._empty_since: dict[str, float] = {}
        #: Trials without a result, with their time, by pool.
        self._tried: dict[str, tuple[Hashable, float]] = {}

    def run(self, pool: TidePool, members: PoolMembers) -> Iterator[NodeSwitch]:
        """Run one round of a pool; yields each switch that begins.

        Raises:
            RetryError: a write was refused.
        """
        now = self._clock.now()
        nodes = members.switching()
        pending = self._pods.pending(now)
        self._note_empty(nodes, now)
        draining = members.draining()
        for name in draining:
            self._drain(pool, members, name, pending)
        recent = {name for name, each in nodes.items() if now - _switched(each) < PERIOD_S}
        left = max(0, pool.most_switching(len(nodes)) - len(recent.union(draining)))
        if pending.stuck:
            for choice in self._needed(pool, members, pending, left):
                yield self._begun(pool, members, choice)
        elif not pending.total:
            idle = sorted(each for each in nodes if self._is_idle(pool, members, each, now))
            for name in idle[:left]:
                members.turn(name, NodeRole.OFFLINE, timestamp(int(now)))
                yield NodeSwitch(pool.name, name, NodeRole.OFFLINE, now)

    def _needed(
        self, pool: TidePool, members: PoolMembers, pending: PendingOnline, left: int
    ) -> list[SwitchChoice]:
        """Offline nodes to switch online for pending pods."""
        now, taint = self._clock.now(), pool.against_offline
        found = [
            self._pods.candidate(name, taint)
            for name, node in members.with_role(NodeRole.OFFLINE).items()
            if now - _switched(node) >= OFFLINE_HOLD_S and not node.spec.get("unschedulable")
        ]
        candidates = [each for each in found if each is not None]
        question: Hashable = (frozenset(pending.stuck), tuple(candidates), left)
        before = self._tried.get(pool.name)
        if before is not None and before[0] == question and now - before[1] < TRIED_AGAIN_S:
            return []
        begun = [self._pods.candidate(each, taint) for each in members.draining()]
        under_way = [each for each in begun if each is not None]

        def trial(more: Sequence[Candidate]) -> Placements:
            online = [*under_way, *more]
            changes = {each.node: members.change(each.node, NodeRole.ONLINE) for each in online}
            return self._trial(changes, [pod for each in online for pod in each.victims])

        choices = choose_online(candidates, pending.stuck, trial, left)
        if not choices:
            self._tried[pool.name] = question, now
        return choices

    def _begun(self, pool: TidePool, members: PoolMembers, choice: SwitchChoice) -> NodeSwitch:
        """Make a node online; its victims are evicted from the next round on."""
        found, now = choice.candidate, self._clock.now()
        members.turn(found.node, NodeRole.ONLINE, timestamp(int(now)))
        self._empty_since.pop(found.node, None)
        sides = found.victims, choice.beneficiaries
        return NodeSwitch(pool.name, found.node, NodeRole.ONLINE, now, *sides)

    def _drain(
        self, pool: TidePool, members: PoolMembers, name: str, pending: PendingOnline
    ) -> None:
        """Evict the offline pods of a node that online pods need; then set its taint."""
        victims = self._pods.victims(name, pool.against_offline)
        if not victims:
            members.finish(name)
        elif pending.total or self._pods.online(name):
            members.evict(victims, f"node {name} becomes online in the pool {pool.name}")

    def _is_idle(self, pool: TidePool, members: PoolMembers, name: str, now: float) -> bool:
        """Return whether a node is online and has had no online pod for the pool's delay."""
        if members.roles[name] is not NodeRole.ONLINE or name not in self._empty_since:
            return False
        since = max(self._empty_since[name], _switched(members.node(name)))
        return now - since >= pool.settings.hold_s

    def _note_empty(self, nodes: dict[str, StoredObject], now: float) -> None:
        """Record the time since which nodes have no online pods."""
        for name in nodes:
            if self._pods.online(name):
                self._empty_since.pop(name, None)
            else:
                self._empty_since.setdefault(name, now)


def _switched(node: StoredObject) -> float:
    """Wall time of the last switch of a node; minus infinity if it has not switched."""
    switched = timestamp_or_none(node.annotations.get(SWITCHED))
    return float("-inf") if switched is None else switched
