"""The scheduler of a member: a plane over its store."""

from typing import Final

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.control.reporting.reporter import ReportConfig
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.store import Store

_SCHEDULER_NAMES: Final = frozenset({"", "default-scheduler"})
"""Scheduler names of a member's own pods; other names belong to other schedulers."""
_REPORT: Final = ReportConfig(events=False, scheduled=False)
"""Members report unschedulable pods, so that the federation can move them."""


def member_plane(store: Store, clock: Clock, rng: Rng) -> Plane:
    """A plane over the store of a member; ``rng`` determines its seed."""
    config = PlaneConfig(
        profile=load_profile("default"),
        cluster=ClusterConfig(scheduler_names=_SCHEDULER_NAMES),
        seed=rng.seed,
        tier="numpy",
        report=_REPORT,
    )
    return Plane(config, store, clock)
