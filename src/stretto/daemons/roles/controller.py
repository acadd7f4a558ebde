"""The controller as a role: phases of PodGroups, statuses of queues, kept places, moves.

It sees every pod as it is, places none, and tells what became of their groups and queues. Where the
profile says that pods are moved now and then, it is the one who asks them to leave, and so it is
where a node gives more than it has.
"""

from typing import Final

import msgspec

from stretto.api.types.handover_annotations import HandoverState
from stretto.base.clock import Clock
from stretto.control.reporting.reporter import ReportConfig
from stretto.daemons.roles.store_view import StoreView
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane, Stage, Wiring
from stretto.plane.work import ALL_PARTS, Part
from stretto.stores.store import Store


class ControllerView(StoreView):
    """Pods have the nodes that they are bound to, whatever is decided about them."""

    controls = True

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """A pod without a node wants one."""
        del uid, standing
        return ""


STEP: Final = (
    Stage("answers", Plane.settle_answers),
    Stage("controllers", Plane.run_controllers),
    Stage("absorb", Plane.absorb),
    Stage("timers", Plane.run_timers),
    Stage("evict", Plane.evict),
    Stage("observe", Plane.observe),
    Stage("statuses", Plane.write_statuses),
)
"""The stages of the controller's step: it dispatches and places nothing."""


def controller_plane(config: PlaneConfig, store: Store, clock: Clock) -> Plane:
    """The part of the scheduler that the controller runs."""
    names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
    view = ControllerView(store, names, clock)
    report = config.report or ReportConfig()
    config = msgspec.structs.replace(config, shards=1, partition=False, report=report)
    wiring = Wiring(parts=ALL_PARTS - {Part.REPORTER}, stages=STEP)
    return Plane(config, view, clock, wiring=wiring)
