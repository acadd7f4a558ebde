"""An embedded federation: its host, its members and its controllers on one clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation.assembly import Federation
from stretto.federation.settings import FederationSettings
from stretto.reconcile.cache import StoreCache
from stretto.reconcile.reconciler import Reconciler
from stretto.sim.fleet.member import EmbeddedMember
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookClient
from stretto.workloads.assembly import workload_controllers
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.kubelet import CourseOf, default_course


@dataclass(frozen=True)
class FleetParts:
    """What an embedded federation is made of beside its controllers."""

    #: What becomes of bound pods.
    course: CourseOf = default_course
    #: Further controllers of a member.
    more: Callable[[StoreCache], Sequence[Reconciler]] = lambda _: ()
    #: Sends the calls of scheduling profiles with webhooks.
    webhooks: WebhookClient = NO_WEBHOOKS


DEFAULT_PARTS: Final = FleetParts()
"""Pods run as usual, and no webhook answers."""


class EmbeddedFleet:
    """A host and members of this process, in virtual time."""

    def __init__(
        self,
        clock: ManualClock,
        settings: FederationSettings,
        parts: FleetParts = DEFAULT_PARTS,
    ) -> None:
        """A host without members.

        Args:
            clock: virtual time of everything.
            settings: behaviour of the federation's controllers.
            parts: what it is made of beside its controllers.
        """
        #: Virtual time.
        self.clock = clock
        #: The store of the host.
        self.host = MemoryStore(clock, Rng(0).child("host"))
        #: The controllers.
        self.federation = Federation(self.host, clock, settings, parts.webhooks)
        #: The members by name.
        self.members: dict[str, EmbeddedMember] = {}
        self._parts = parts

    def add_member(self, name: str, nodes: Sequence[bytes] = ()) -> EmbeddedMember:
        """Add a member cluster; its FederatedCluster says whether it is used."""
        member = EmbeddedMember(name, self.clock, Rng(0).child("member", name), nodes)
        self.members[name] = member
        cache = self.federation.connect(name, member.store)
        local = LocalCluster(cache, self.clock)
        controllers = [
            *workload_controllers(local, self._parts.course),
            *self._parts.more(cache),
        ]
        self.federation.loop.add_controllers(controllers)
        return member

    def settle(self) -> None:
        """Run everything that is due now, until nothing changes."""
        while True:
            self.federation.loop.step()
            moved = [member.step() for member in self.members.values()]
            if not any(moved):
                return

    def run_until(self, end: float) -> None:
        """Run until a monotonic time."""
        self.settle()
        while (due := self._next_due()) <= end:
            self.clock.set(max(due, self.clock.monotonic()))
            self.settle()
        self.clock.set(max(end, self.clock.monotonic()))
        self.settle()

    def _next_due(self) -> float:
        """Monotonic time of the next work; infinity if there is none."""
        due = self.federation.loop.next_due()
        planes = (member.next_due() for member in self.members.values())
        return min(inf if due is None else due, min(planes, default=inf))
