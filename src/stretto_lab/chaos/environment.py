"""The environment of one run: clock, store with faults, world, true state, laws and plane.

A crash discards the running component. Its successor must recover from the store.
"""

from collections.abc import Collection
from pathlib import Path

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.plane.plane import Plane
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.faulty.odds import LONGEST_LANDING
from stretto_lab.chaos.draws.faults import Fault, FaultDraw
from stretto_lab.chaos.laws.laws import Laws
from stretto_lab.chaos.laws.truth import TrueState
from stretto_lab.chaos.network import ChaosStore, SlowPlane
from stretto_lab.chaos.setup import START, ChaosSetup
from stretto_lab.chaos.world import ChaosWorld


class ChaosEnvironment:
    """Everything around the steps of one seed; planes and stores are replaced after a crash."""

    def __init__(self, setup: ChaosSetup, folder: Path, only: Collection[Fault] | None) -> None:
        """Create the world and the first plane; ``only`` fires exactly these faults."""
        #: Draws that precede the first step.
        self.setup = setup
        #: Virtual time.
        self.clock = ManualClock(START)
        #: Decides about faults.
        self.fault_draw = FaultDraw(setup.seed, setup.odds, only)
        self._folder = folder
        self._opened = 0
        self._acknowledged: dict[str, str] = {}
        #: The store without faults.
        self.inner = self._open()
        #: The store that the plane uses, with faults.
        self.store = self._chaos_store()
        #: The other clients.
        self.world = ChaosWorld(setup, self.inner, self.fault_draw)
        #: Contents of the store.
        self.truth = TrueState(self.inner, self.world)
        #: The laws.
        self.laws = Laws(self.world, self.truth, self._acknowledged)
        self.laws.lands_whole = setup.lands_whole
        self.world.begin()
        #: The current plane.
        self.plane: Plane = self._new_plane()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def heal(self, step: int) -> None:
        """Stop all faults, and lift the limits and finalizers of the world."""
        self.fault_draw.begin(step)
        self.fault_draw.heal()
        self.store.heal()
        self.world.queues.lift(self.inner)
        self.world.preemption.release_all(self.inner)
        self.plane.rescheduler.run(None, lambda: self.plane.evictor, self.clock)

    def restart_component(self, failpoint: str) -> None:
        """Replace the component that crashed at a failpoint, or the whole plane."""
        plane, now = self.plane, self.clock.monotonic()
        component = failpoint.split(".", maxsplit=1)[0]
        if component == "dispatcher" or self.fault_draw.fires("whole_plane_dies"):
            self.restart_plane()
        elif component == "pump":
            plane.pump.close()
        elif component == "shard":
            for number in [shard.number for shard in plane.shards]:
                plane.restart_shard(number, now)
        else:
            plane.restart_binder(now)

    def restart_plane(self) -> None:
        """Replace the plane; the next one starts when no write of the old one is in flight."""
        self.plane.pump.close()
        late = any(self.setup.odds.get(kind) for kind in ("late_request", "late_answer"))
        self.clock.advance(LONGEST_LANDING + 0.1 if late else 0.5)
        self.plane = self._new_plane()

    def close_plane_and_store(self) -> None:
        """Crash the process of the store, and the plane in the same process."""
        self.plane.pump.close()
        self.store.close()
        self.inner = self.world.store = self._open()

    def start_plane_on_new_store(self) -> None:
        """Start a plane on the reopened store."""
        self.store = self._chaos_store()
        self.plane = self._new_plane()

    def _new_plane(self) -> Plane:
        self.store.fresh = True
        plane = SlowPlane(self.setup.plane_config(), self.store, self.clock, self.fault_draw)
        self.laws.follow_plane(plane)
        return plane

    def _open(self) -> MemoryStore | SqliteStore:
        self._opened += 1
        rng = Rng(self.setup.seed).child("store", self._opened)
        if not self.setup.durable:
            return MemoryStore(self.clock, rng)
        return SqliteStore(self._folder / f"{self.setup.seed}.db", self.clock, rng)

    def _chaos_store(self) -> ChaosStore:
        face = ChaosStore(self.inner, self.fault_draw, self.clock, self._acknowledged)
        if self.setup.odds.get("late_answer"):
            face.delay_answers(self.clock.set)
        if not self.setup.lands_whole:
            face.bind_pod_by_pod()
        return face
