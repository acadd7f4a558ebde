"""An embedded federation: its host, its members and its controllers on one clock."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.capacity.autoscaling.controller import AutoscalerController
from stretto.federation.assembly import Federation, FederationParts
from stretto.federation.connection.protocol import MemberConnector
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.connector import EmbeddedConnector
from stretto.sim.fleet.controllers import MemberControllers
from stretto.sim.fleet.member import EmbeddedMember
from stretto.sim.fleet.parts import DEFAULT_PARTS, FleetParts
from stretto.sim.fleet.server.availability import UnreliableStore
from stretto.stores.embedded.memory import MemoryStore


class EmbeddedFleet:
    """A host and members of this process, in virtual time."""

    def __init__(
        self,
        clock: ManualClock,
        settings: FederationSettings,
        parts: FleetParts = DEFAULT_PARTS,
    ) -> None:
        """Create a host without members; its controllers run.

        Args:
            clock: virtual time of all parts.
            settings: behaviour of the federation's controllers.
            parts: parts besides its controllers.
        """
        #: Virtual time.
        self.clock = clock
        #: The store of the host.
        self.host = MemoryStore(clock, Rng(0).child("host"))
        #: The store of the host as the controllers access it.
        self.served = UnreliableStore(self.host, parts.failpoint)
        #: The members by name.
        self.members: dict[str, EmbeddedMember] = {}
        #: Opens connections to the members; another connector may wrap it.
        self.connector: MemberConnector = EmbeddedConnector(self.members)
        self._settings = settings
        self._controllers = MemberControllers(
            parts.course, parts.more, parts.failpoint, parts.kinds, parts.applies
        )
        self._parts = parts
        self._federations: dict[int, Federation] = {}
        self.start()

    @property
    def federation(self) -> Federation:
        """The running controllers; those of the first running shard."""
        return next(iter(self._federations.values()))

    @property
    def federations(self) -> tuple[Federation, ...]:
        """The running controllers of all shards."""
        return tuple(self._federations.values())

    @property
    def is_running(self) -> bool:
        """True if controllers run."""
        return bool(self._federations)

    def stop(self) -> None:
        """Stop the controllers of the federation; members continue to run."""
        for shard in tuple(self._federations):
            self.stop_shard(shard)

    def stop_shard(self, shard: int) -> None:
        """Stop the controllers of one shard if they run."""
        running = self._federations.pop(shard, None)
        if running is not None:
            running.close()

    def start_shard(self, shard: int) -> None:
        """Start the controllers of one shard without any state of earlier ones."""
        self.stop_shard(shard)
        self._federations[shard] = self._started(shard)

    def start(self, connector: MemberConnector | None = None) -> None:
        """Start the controllers without any state of earlier ones.

        Args:
            connector: opens connections from now on; ``None`` for the previous connector.
        """
        self.stop()
        self.connector = connector or self.connector
        for shard in range(self._parts.shards):
            self.start_shard(shard)

    def divide(self, shards: int) -> None:
        """Stop all controllers, and start them with another number of shards."""
        self.stop()
        self._parts = replace(self._parts, shards=shards)
        self.start()

    def add_member(self, name: str, nodes: Sequence[bytes] = ()) -> EmbeddedMember:
        """Add a member cluster; it joins by a FederatedCluster."""
        rng = Rng(0).child("member", name)
        member = EmbeddedMember(name, self.clock, rng, nodes, self._controllers)
        self.members[name] = member
        return member

    def settle(self) -> None:
        """Run everything that is due now, until nothing changes."""
        while True:
            done = [each.loop.step() for each in self.federations]
            moved = [member.step() for member in self.members.values()]
            if not any(moved) and not (len(done) > 1 and any(done)):
                return

    def run_until(self, end: float) -> None:
        """Run until a monotonic time."""
        self.settle()
        while (due := self._next_due()) <= end:
            self.clock.set(max(due, self.clock.monotonic()))
            self.settle()
        self.clock.set(max(end, self.clock.monotonic()))
        self.settle()

    # ---------------------------------------------------------------- inside

    def _started(self, shard: int) -> Federation:
        clock = self.clock
        parts = FederationParts(
            self._parts.webhooks,
            share=self._parts.share(shard),
            autoscaler=lambda cache, ports: AutoscalerController(cache, clock, ports),
        )
        return Federation(self.served, self.clock, self._settings, self.connector, parts)

    def _next_due(self) -> float:
        """Monotonic time of the next work; infinity if there is none."""
        found = (each.loop.next_due() for each in self.federations)
        due = min((each for each in found if each is not None), default=inf)
        members = (member.next_due() for member in self.members.values())
        return min(due, min(members, default=inf))
