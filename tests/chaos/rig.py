"""A harness whose plane sees its store through a bad network, with faults on demand."""

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
    """The tests write to the store itself; the plane's reads and writes go through the faults."""

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
        """From now on these faults, and no others."""
        self.face._chance.odds = FaultOdds(**odds)

    def during(self, **odds: float) -> None:
        """Let what is due now happen under these faults; then none."""
        self.faults(**odds)
        self.plane.run_until_idle()
        self.faults()

    def record(self, name: str) -> Record:
        """A pod as the store has it."""
        found = self.store.get(POD, "default", name)
        assert found is not None
        return found

    def drop(self, kind: Kind, name: str) -> None:
        """Delete something of any kind."""
        self.store.delete(kind, [Deletion("default" if kind.namespaced else "", name)])

    def shrink(self, node: str, **amounts: str) -> None:
        """Change what a node may give."""
        self.store.patch_status(NODE, [Patch("", node, {"status": {"allocatable": amounts}})])

    def used(self, node: str) -> int:
        """Milli-CPU that are booked on a node."""
        cluster = self.plane.cluster
        return int(cluster.ledger.used[cluster.nodes.by_name[node], 0])

    def booked(self) -> int:
        """Milli-CPU that are booked anywhere."""
        return int(self.plane.cluster.ledger.used[:, 0].sum())
