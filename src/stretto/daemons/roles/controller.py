"""The controller as a role: PodGroup phases, Queue statuses, reservations and moves.

The role sees every pod as stored and places none. If the profile enables rescheduling or eviction
from over-committed nodes, this role evicts the pods.
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
    """Store view of the controller: it shows bindings, and ignores decisions in annotations."""

    controls = True

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Show every pod without a node as pending."""
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
"""The stages of the controller's step; no stage dispatches or places pods."""


def controller_plane(config: PlaneConfig, store: Store, clock: Clock) -> Plane:
    """The part of the scheduler that the controller runs."""
    names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
    view = ControllerView(store, names, clock)
    report = config.report or ReportConfig()
    config = msgspec.structs.replace(config, shards=1, partition=False, report=report)
    wiring = Wiring(parts=ALL_PARTS - {Part.REPORTER}, stages=STEP)
    return Plane(config, view, clock, wiring=wiring)
