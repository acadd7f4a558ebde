"""Usage of the pods of an embedded member."""

from functools import partial

from stretto.base.clock import Clock
from stretto.capacity.load.estimate import DEFAULT_FACTORS, estimate
from stretto.reconcile.cache import StoreCache
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.use.simulated import SimulatedUse


def simulated_use(cache: StoreCache, clock: Clock) -> SimulatedUse:
    """The usage of a member's pods: the stated one, or an estimate from their requests."""
    return SimulatedUse(LocalCluster(cache, clock), partial(estimate, factors=DEFAULT_FACTORS))
