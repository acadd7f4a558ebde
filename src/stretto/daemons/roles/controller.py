"""The controller as a role: phases of PodGroups, statuses of queues, kept places, moves.

It sees every pod as it is, places none, and tells what became of their groups and queues. Where the
profile says that pods are moved now and then, it is the one who asks them to leave, and so it is
where a node gives more than it has.
"""

import msgspec

from stretto.api.types.handover_annotations import HandoverState
from stretto.base.clock import Clock
from stretto.control.reporting.reporter import ReportConfig
from stretto.daemons.roles.store_view import StoreView
from stretto.plane import Plane, PlaneConfig
from stretto.stores.store import Store


class ControllerView(StoreView):
    """Pods have the nodes that they are bound to, whatever is decided about them."""

    controls = True

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """A pod without a node wants one."""
        del uid, standing
        return ""


class ControllerPlane(Plane):
    """The part of a plane that the controller runs."""

    def __init__(self, config: PlaneConfig, store: Store, clock: Clock) -> None:
        """Nothing is read before the first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the controller sees it.
        self.view = ControllerView(store, names, clock)
        report = config.report or ReportConfig()
        config = msgspec.structs.replace(config, shards=1, partition=False, report=report)
        super().__init__(config, self.view, clock)
        self.reporter = None

    def step(self) -> bool:
        """Take in what has changed, and tell what became of groups and queues."""
        now = self.clock.monotonic()
        moved = self.pump.poll(now) > 0
        if not self.pump.synced:
            return moved
        moved = self.reservations.step(now) or moved
        self._absorb(now)
        self.dispatcher.due(now)
        self.dispatcher.drain_failures()
        self.evictor.settle(now)
        self.rescheduler.step(now)
        self.relief.step(now)
        moved = self.evictor.send(now) or moved
        if self.statuses is not None:
            moved = self.statuses.report(now, self.clock) > 0 or moved
        return moved
