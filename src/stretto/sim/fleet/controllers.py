"""The controllers of a member: those of workloads, of namespaces and of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.sim.fleet.server.kinds import served_kinds
from stretto.sim.fleet.tokens import TokenController
from stretto.workloads.deletion import objects_of_store
from stretto.workloads.kubelet.course import CourseOf, default_course
from stretto.workloads.namespaces import NamespaceEndController
from stretto.workloads.standalone import standalone_controllers

MOST_WAITING: Final = 1_000
"""Number of pods of a workload that wait for a node in a member; further ones would wait as well.

So a workload that is much larger than its member costs no more than its capacity and these pods.
"""
MoreControllers = Callable[[StoreCache], Sequence[Reconciler]]
"""Function that returns further controllers over the caches of a member."""


@dataclass(frozen=True, slots=True)
class MemberControllers:
    """Controllers of every member, and interruptions of its API server."""

    #: Function that determines the course of bound pods.
    course: CourseOf = default_course
    #: Further controllers.
    more: MoreControllers = lambda _: ()
    #: Called before each write of a client takes effect, and before it is answered.
    failpoint: Failpoint = no_failpoint
    #: Kinds that every member serves besides those of Kubernetes and of its CRDs.
    kinds: tuple[Kind, ...] = ()
    #: True if the API servers of members support server-side apply.
    applies: bool = False

    def over(self, cache: StoreCache, clock: Clock) -> list[Reconciler]:
        """The controllers over the caches of one member."""
        objects = objects_of_store(cache.store, lambda: served_kinds(cache.store))
        return [
            *standalone_controllers(cache, clock, self.course, MOST_WAITING),
            *self.more(cache),
            NamespaceEndController(cache, objects),
            TokenController(cache),
        ]
