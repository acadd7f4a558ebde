"""An embedded federation: its host, its members and its controllers on one clock."""

from collections.abc import Sequence
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
        self._webhooks = parts.webhooks
        self._federation: Federation | None = self._started()

    @property
    def federation(self) -> Federation:
        """The running controllers."""
        assert self._federation is not None
        return self._federation

    @property
    def is_running(self) -> bool:
        """True if the controllers run."""
        return self._federation is not None

    def stop(self) -> None:
        """Stop the controllers of the federation; members continue to run."""
        if self._federation is not None:
            self._federation.close()
            self._federation = None

    def start(self, connector: MemberConnector | None = None) -> None:
        """Start the controllers without any state of earlier ones.

        Args:
            connector: opens connections from now on; ``None`` for the previous connector.
        """
        self.stop()
        self.connector = connector or self.connector
        self._federation = self._started()

    def add_member(self, name: str, nodes: Sequence[bytes] = ()) -> EmbeddedMember:
        """Add a member cluster; it joins by a FederatedCluster."""
        rng = Rng(0).child("member", name)
        member = EmbeddedMember(name, self.clock, rng, nodes, self._controllers)
        self.members[name] = member
        return member

    def settle(self) -> None:
        """Run everything that is due now, until nothing changes."""
        while True:
            if self._federation is not None:
                self._federation.loop.step()
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

    # ---------------------------------------------------------------- inside

    def _started(self) -> Federation:
        clock = self.clock
        parts = FederationParts(
            self._webhooks,
            autoscaler=lambda cache, ports: AutoscalerController(cache, clock, ports),
        )
        return Federation(self.served, self.clock, self._settings, self.connector, parts)

    def _next_due(self) -> float:
        """Monotonic time of the next work; infinity if there is none."""
        due = self._federation.loop.next_due() if self._federation is not None else None
        members = (member.next_due() for member in self.members.values())
        return min(inf if due is None else due, min(members, default=inf))
