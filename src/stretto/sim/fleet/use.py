"""What the pods of an embedded member use."""

from functools import partial

from stretto.base.clock import Clock
from stretto.capacity.load.estimate import DEFAULT_FACTORS, estimate
from stretto.reconcile.cache import StoreCache
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.use.simulated import SimulatedUse


def simulated_use(cache: StoreCache, clock: Clock) -> SimulatedUse:
    """The use of a member's pods: what is stated, otherwise an estimate of their requests."""
    return SimulatedUse(LocalCluster(cache, clock), partial(estimate, factors=DEFAULT_FACTORS))
