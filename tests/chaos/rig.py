"""A harness with a faulty store between the plane and the real store."""

from typing import Any

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.faulty.odds import NO_FAULTS, FaultOdds
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import Deletion, Patch, Record
from stretto.testing import Harness


class Rig(Harness):
    """Tests write to the real store; reads and writes of the plane pass through the faults."""

    def __init__(self, *nodes: bytes, profile: str = "default", **config: Any) -> None:
        clock = ManualClock()
        inner = MemoryStore(clock, Rng(0))
        self.face = FaultyStore(inner, Rng(1), NO_FAULTS, clock)
        config = {"compare_every": 30.0, **config}
        super().__init__(profile=profile, store=self.face, config=config)
        self.clock = self.plane.clock = clock
        self.store = inner
        self.create(NODE, *nodes)

    def faults(self, **odds: float) -> None:
        """Set the fault odds; other faults are off."""
        self.face._chance.odds = FaultOdds(**odds)

    def during(self, **odds: float) -> None:
        """Run the plane until it is idle with these faults, then turn them off."""
        self.faults(**odds)
        self.plane.run_until_idle()
        self.faults()

    def record(self, name: str) -> Record:
        """The record of a pod in the store."""
        found = self.store.get(POD, "default", name)
        assert found is not None
        return found

    def drop(self, kind: Kind, name: str) -> None:
        """Delete an object."""
        self.store.delete(kind, [Deletion("default" if kind.namespaced else "", name)])

    def shrink(self, node: str, **amounts: str) -> None:
        """Change the allocatable amounts of a node."""
        self.store.patch_status(NODE, [Patch("", node, {"status": {"allocatable": amounts}})])

    def used(self, node: str) -> int:
        """Charged milli-CPU of a node."""
        cluster = self.plane.cluster
        return int(cluster.ledger.used[cluster.nodes.by_name[node], 0])

    def booked(self) -> int:
        """Charged milli-CPU of all nodes."""
        return int(self.plane.cluster.ledger.used[:, 0].sum())
