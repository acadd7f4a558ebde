"""A member cluster of this process: a store, nodes, a plane and the controllers of workloads."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf

from stretto.api.wire.kinds import NODE, Kind
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.fleet.controllers import MemberControllers
from stretto.sim.fleet.plane import member_plane
from stretto.sim.fleet.server.applying import ApplyingStore
from stretto.sim.fleet.server.availability import ServerAvailability, UnreliableStore
from stretto.sim.fleet.server.kinds import served_kinds, serves
from stretto.sim.fleet.server.store import MemberStore
from stretto.stores.embedded.memory import MemoryStore


class EmbeddedMember:
    """One member cluster."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        rng: Rng,
        nodes: Sequence[bytes] = (),
        controllers: MemberControllers = MemberControllers(),  # noqa: B008  (frozen)
    ) -> None:
        """Create the store with its nodes, a plane and the controllers over it.

        Args:
            name: name of the cluster.
            clock: clock of the whole fleet.
            rng: random numbers of the store and of the plane.
            nodes: JSON of the nodes.
            controllers: its controllers.
        """
        #: Name of the cluster.
        self.name = name
        #: Its objects.
        self.store = MemoryStore(clock, rng.child("store"))
        self.store.create(NODE, nodes)
        #: The store as clients access it.
        objects = ApplyingStore(self.store) if controllers.applies else self.store
        kinds = MemberStore(objects, partial(serves, self.store, controllers.kinds))
        self.served = UnreliableStore(kinds, controllers.failpoint)
        #: Its scheduler.
        self.plane = member_plane(self.store, clock, rng.child("plane"))
        self._loop = ReconcileLoop(clock)
        #: Caches of its store, which its controllers read.
        self.cache = self._loop.add_store(name, self.store)
        self._loop.add_controllers(controllers.over(self.cache, clock))
        #: Its time.
        self.clock = clock
        self._kinds = controllers.kinds
        self._runs = True
        self._seen = -1  # version of the store after the last step without changes
        self._due = -inf

    def kinds(self) -> Iterator[Kind]:
        """The kinds that it serves."""
        yield from self._kinds
        yield from served_kinds(self.store)

    @property
    def is_running(self) -> bool:
        """True if the control plane runs."""
        return self._runs

    def stop(self) -> None:
        """Stop the control plane: it answers and schedules nothing; pods continue to run."""
        self._runs = False
        self.served.set_availability(ServerAvailability.SILENT)

    def start(self) -> None:
        """Start the control plane again."""
        self._runs = True
        self.served.restart()

    def step(self) -> bool:
        """Run due controllers and schedule pending pods; true if the store changed."""
        before = self.store.version
        if not self._runs or (before == self._seen and self._due > self.clock.monotonic()):
            return False
        self._loop.step()
        self.plane.run_until_idle()
        due = self._loop.next_due()
        self._due = min(inf if due is None else due, self.plane.next_due())
        moved = self.store.version != before
        self._seen = -1 if moved else before
        return moved

    def next_due(self) -> float:
        """Monotonic time of the next work; infinity if there is none."""
        if not self._runs:
            return inf
        return self._due if self._seen == self.store.version else -inf
