"""All controllers of a cluster without an API server: workloads and garbage collection."""

from stretto.base.clock import Clock
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.workloads.assembly import workload_controllers
from stretto.workloads.cluster import WORKLOADS, LocalCluster
from stretto.workloads.cron import CRON_JOB
from stretto.workloads.deletion import objects_of_store
from stretto.workloads.garbage.collector import GarbageCollector
from stretto.workloads.kubelet.course import CourseOf, default_course


def standalone_controllers(
    cache: StoreCache,
    clock: Clock,
    course: CourseOf = default_course,
    most_waiting: int | None = None,
) -> list[Reconciler]:
    """The controllers over the caches of one cluster.

    Args:
        cache: caches of its store.
        clock: wall time of statuses.
        course: simulated lifecycle of a bound pod.
        most_waiting: number of pods of a workload that may wait for a node; ``None`` for no limit.
    """
    objects = objects_of_store(cache.store, lambda: (CRON_JOB, *WORKLOADS))
    return [
        *workload_controllers(LocalCluster(cache, clock, most_waiting=most_waiting), course),
        GarbageCollector(cache, objects),
    ]
