"""The controller that switches the nodes of tidal pools of a local cluster."""

from functools import partial

from stretto.base.clock import Clock
from stretto.capacity.tides.controller import TideController
from stretto.plane.config import PlaneConfig
from stretto.plane.placements import PlacementTrial, scheduling_records
from stretto.reconcile.cache import StoreCache


def tide_controller(cache: StoreCache, clock: Clock, plane: PlaneConfig) -> TideController:
    """Return the controller of tidal pools; the scheduler tries each switch on a copy first.

    Args:
        cache: caches of the cluster's store.
        clock: wall time.
        plane: configuration of the scheduler.
    """
    trial = PlacementTrial(plane, partial(scheduling_records, cache.store))
    return TideController(cache, clock, trial.placed)
