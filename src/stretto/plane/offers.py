"""A plane whose nodes are also offered to frameworks: pods, gangs and offers share one ledger.

The stage ``offers`` runs before the scheduler decides, and ``claims`` after the binder. Before pods
are evicted, for a guarantee or for a pod of higher priority, the offers with capacity on these
nodes are rescinded, because an offer is not in use.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.control.dispatcher.reclaimer import ReclaimSearch
from stretto.offers.master.core.state import MasterState
from stretto.offers.nodes.pods import FRAMEWORK, PodSettings
from stretto.offers.nodes.pool import OfferedNodes
from stretto.offers.nodes.tasks import TaskPods
from stretto.offers.nodes.writes import PodWrites
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import STEP, Plane, Stage, Wiring, insert_after, with_stage
from stretto.plane.work import StepWork
from stretto.state.queues.guarantees import EvictionRight
from stretto.state.work.claims import ConflictCause, Plan
from stretto.state.work.evictions import PlannedPlace
from stretto.state.work.units import Unit
from stretto.stores.reflector import Reflector, ReflectorSettings, follow
from stretto.stores.store import ListOptions, Store

SELECTED: Final = ReflectorSettings(selection=ListOptions(labels=FRAMEWORK))
"""Selection of the pods of tasks."""


class OfferingPlane:
    """A plane, and the offers of its nodes."""

    def __init__(
        self,
        config: PlaneConfig,
        store: Store,
        clock: Clock,
        master: MasterState,
        pods: PodSettings,
    ) -> None:
        """Build the plane; the store is not read before the first step.

        Args:
            config: configuration of the plane.
            store: the store of nodes, pods and queues.
            clock: the clock of the plane and of the master.
            master: the master that offers the nodes.
            pods: settings for the pods of tasks.
        """
        self._priority = pods.priority
        #: The plane.
        self.plane = Plane(config, store, clock, wiring=Wiring(stages=self._stages()))
        writes = PodWrites(store, pods.namespace)
        tasks = TaskPods(writes, master, pods, Rng(config.seed).child("updates"))
        #: Nodes as agents.
        self.nodes = OfferedNodes(
            master, self.plane.cluster, lambda: self.plane.dispatcher.reclaimer.usage, tasks
        )
        self._reflectors = [
            Reflector(store, NODE, self.nodes.nodes.cache),
            Reflector(store, POD, tasks.cache, SELECTED),
        ]
        self._unsubscribe = follow(store, self._reflectors)

    def close(self) -> None:
        """Stop watching; the caller closes the store."""
        self._unsubscribe()
        for each in self._reflectors:
            each.close()
        self.plane.close()

    def next_due(self) -> float:
        """Clock time of the next work without an event."""
        return min(self.plane.next_due(), self.nodes.next_due)

    # ------------------------------------------------------------ stages

    def _stages(self) -> tuple[Stage, ...]:
        stages = insert_after(STEP, "partition", Stage("offers", self._offer))
        stages = with_stage(stages, Stage("bind", self._bind))
        stages = with_stage(stages, Stage("reclaim", self._reclaim))
        return (*stages, Stage("claims", self._claim))

    def _offer(self, plane: Plane, work: StepWork) -> bool:
        """Read nodes and tasks, and run the cycles of the master that are due."""
        del plane
        for each in self._reflectors:
            while each.is_due(work.now) and each.poll(work.now):
                pass
        return self.nodes.step(work.now)

    def _claim(self, plane: Plane, work: StepWork) -> None:
        """Subtract the pods that the step has bound from the totals of agents."""
        del plane, work
        self.nodes.claim()

    def _bind(self, plane: Plane, work: StepWork) -> None:
        """Commit the plans.

        Remake a plan that would evict pods next to an offer without the offer.
        """
        work.plans = [self._spared(plane, plan, work.now) for plan in work.plans]
        plane.bind(work)
        for plan in work.plans:
            for setback in plan.setbacks:
                self._take_offers(plane, setback.rows)

    def _spared(self, plane: Plane, plan: Plan, now: float) -> Plan:
        """Return the plan without its evictions if offers on the nodes were rescinded instead."""
        if not plan.preemptions:
            return plan
        waiting = [plan.units[each.claims] for each in plan.preemptions]
        slots = {int(slot) for unit in waiting for slot in plan.slots[unit.start : unit.stop]}
        if not self.nodes.rescind(plane.cluster.nodes.names[slot] for slot in slots):
            return plan
        refused = [
            (
                unit.unit,
                tuple(plan.rows[unit.start : unit.stop].tolist()),
                ConflictCause.NODE_CHANGED,
            )
            for unit in waiting
        ]
        plane.dispatcher.answers.settle(refused, now)
        return plan.plain()

    def _take_offers(self, plane: Plane, rows: Iterable[int]) -> None:
        """Rescind offers for pods that fit on no node and have a higher priority than tasks.

        For each pod, it rescinds the offers of one node that then has enough capacity.
        """
        pods = plane.cluster.pods
        for row in rows:
            if plane.cluster.offers and pods.priority[row] > self._priority:
                names = self._nodes_with(plane, int(pods.class_id[row]))
                any(self.nodes.rescind([name]) for name in names)  # stops at the first

    def _nodes_with(self, plane: Plane, class_id: int) -> Iterator[str]:
        """Allowed nodes on which a class fits if the offered capacity counts as free."""
        offers, pod = plane.cluster.offers, plane.cluster.classes[class_id]
        for slot in [slot for slot, _ in offers]:
            if offers.fits_without(slot, pod) and plane.engine.is_eligible(class_id, slot):
                yield plane.cluster.nodes.names[slot]

    def _reclaim(self, plane: Plane, work: StepWork) -> None:
        """Order evictions for queues below their guarantee; offers are rescinded first."""
        search = RescindFirst(plane.reclaim_search, self.nodes)
        for order in plane.dispatcher.reclaim(search, work.now, by_guarantee=True):
            plane.evictor.order(order, work.now)


class RescindFirst:
    """A search for victims that rescinds offers before it evicts pods."""

    def __init__(self, search: ReclaimSearch, nodes: OfferedNodes) -> None:
        """Use ``search`` for the victims among the pods."""
        self._search = search
        self._nodes = nodes

    def begin(self) -> None:
        """Update the snapshot before a series of searches."""
        self._search.begin()

    def leaving(self) -> Iterable[int]:
        """Rows that are being evicted or deleted."""
        return self._search.leaving()

    def places(
        self, unit: Unit, right: EvictionRight, ahead: Sequence[PlannedPlace]
    ) -> Sequence[PlannedPlace]:
        """Places for the pods that a unit needs, with their victims; empty for none."""
        if self._nodes.rescind():
            self._search.begin()
        return self._search.places(unit, right, ahead)

    def may_evict(self, unit: Unit, row: int, right: EvictionRight, now: float) -> bool:
        """Return whether a unit may evict a pod, on any node."""
        return self._search.may_evict(unit, row, right, now)
