"""The controllers of a plane for nodes and placed pods, in addition to scheduling."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from stretto.base.clock import Clock
from stretto.capacity.overcommit.nodes import NodeRatios
from stretto.capacity.reclaim.degradation import PoolDegradation
from stretto.control.controllers.evictions import EvictionOrdersOf
from stretto.control.controllers.fragmentation import Move
from stretto.control.controllers.hot_nodes.planner import HotNodes
from stretto.control.controllers.movable import MoveLimits
from stretto.control.controllers.movements import Movements
from stretto.control.controllers.overcommit_eviction import OvercommitEviction
from stretto.control.controllers.owners import owner_of
from stretto.control.controllers.packing import PackingPlanner
from stretto.control.controllers.rescheduler import Rescheduler
from stretto.control.controllers.reservations import Reservations
from stretto.control.reporting.node_events import NodeEvents
from stretto.framework.preemption.terms import UsageOf
from stretto.framework.profile.capacity.hot_nodes import HotNodeRules
from stretto.plane.config import PlaneConfig
from stretto.plane.work import Part
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.units import Units
from stretto.stores.store import Store


class TimedPart(Protocol):
    """A part that acts at certain times."""

    def step(self, now: float) -> object:
        """Act if it is due at a clock time; the result is ignored."""
        ...

    def next_due(self) -> float:
        """Clock time of its next work without an event."""
        ...


class ControllerSources(NamedTuple):
    """Inputs of controllers."""

    #: Configuration of the plane.
    config: PlaneConfig
    #: The cluster state.
    cluster: Cluster
    #: Every unit.
    units: Units
    #: Remaining disruptions of the budgets.
    budgets: BudgetLedger
    #: Store to which they write.
    store: Store
    #: Clock of the plane.
    clock: Clock
    #: Returns the receiver of eviction orders.
    evictor: EvictionOrdersOf
    #: Returns the usage of queues.
    usage: UsageOf
    #: Predicate on a row: a rule protects the pod from evictions for reasons other than preemption.
    is_protected: Callable[[int], bool]
    #: Predicate (class id, slot): the node rules admit the class to the slot.
    eligible: Callable[[int, int], bool]


class Unloading:
    """Rounds of moves from hot nodes, or a dry run of them."""

    def __init__(
        self, rescheduler: Rescheduler, planner: HotNodes, rules: HotNodeRules | None
    ) -> None:
        """Execute the moves of a planner."""
        #: Moves of the last round with moves.
        self.latest: tuple[Move, ...] = ()
        self._rescheduler = rescheduler
        self._planner = planner
        self._is_dry = rules is None or rules.dry_run

    def next_due(self) -> float:
        """Clock time of the next round."""
        return self._planner.next_due()

    def step(self, now: float) -> None:
        """Plan a round if it is due; a dry run moves nothing."""
        moves = self._planner.plan(now)
        if moves:
            self.latest = moves
            self._rescheduler.unload(() if self._is_dry else moves, now)
            self._rescheduler.counts["planned"] += len(moves) if self._is_dry else 0


class PlaneControllers:
    """The controllers of one plane."""

    def __init__(self, sources: ControllerSources, parts: frozenset[Part]) -> None:
        """Build the controllers; controllers of parts that another process runs never act."""
        profile, clock, cluster = sources.config.profile, sources.clock, sources.cluster
        #: Ends expired reservations.
        self.reservations = Reservations(cluster, sources.store)
        #: Moves pods so that whole GPUs or nodes become free.
        self.rescheduler = _rescheduler(sources, parts)
        #: Evicts pods that do not run yet from over-committed nodes.
        self.overcommit_eviction = OvercommitEviction(
            cluster, sources.store, clock, sources.evictor, sources.usage
        )
        after = profile.evict_over_committed_after if Part.OVERCOMMIT_EVICTION in parts else None
        self.overcommit_eviction.run(
            after,
            clock.monotonic(),
            guarantees_first=profile.preemption.guarantees_first,
        )
        writes = sources.config.report is not None and Part.STATUSES in parts
        events = NodeEvents(cluster, sources.store if writes else None, clock)
        #: Chooses the overcommit ratios of nodes.
        self.ratios = NodeRatios(cluster, profile.capacity.overcommit, clock.now, events.warn)
        rules = profile.capacity.hot_nodes if Part.RESCHEDULER in parts else None
        #: Moves pods from hot nodes.
        self.unloading = Unloading(self.rescheduler, _hot_nodes(sources, rules), rules)
        degradation = PoolDegradation(cluster, profile.capacity.reclaim, clock.now)
        self._of_nodes: tuple[TimedPart, ...] = (
            *(() if profile.capacity.overcommit is None else (self.ratios,)),
            *(() if profile.capacity.reclaim is None else (degradation,)),
        )
        #: Controllers that the profile configures, in the order of their steps.
        self.timed: tuple[TimedPart, ...] = (
            *self._of_nodes,
            self.reservations,
            self.rescheduler,
            self.overcommit_eviction,
            *(() if rules is None else (self.unloading,)),
        )

    def look(self, now: float) -> None:
        """Update the data that depends on nodes, without writes to the store."""
        for part in self._of_nodes:
            part.step(now)


def _hot_nodes(sources: ControllerSources, rules: HotNodeRules | None) -> HotNodes:
    pods, store = sources.cluster.pods, sources.store

    def limits() -> MoveLimits:
        most = 0 if rules is None else rules.moves
        return MoveLimits(
            most,
            sources.budgets,
            sources.units,
            sources.is_protected,
            lambda row: owner_of(store, pods, row),
        )

    return HotNodes(sources.cluster, rules, limits, sources.eligible)


def _rescheduler(sources: ControllerSources, parts: frozenset[Part]) -> Rescheduler:
    cluster, store = sources.cluster, sources.store
    planner = PackingPlanner(cluster, sources.units, store, sources.budgets, sources.is_protected)
    rescheduler = Rescheduler(cluster, store, planner, Movements(cluster, sources.units, store))
    moves = sources.config.profile.rescheduling if Part.RESCHEDULER in parts else None
    rescheduler.run(moves, sources.evictor, sources.clock, sources.config.tier)
    return rescheduler
