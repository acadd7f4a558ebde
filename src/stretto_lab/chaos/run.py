"""One seed's run: the real plane over a faulty store in virtual time, then the heal.

A step lets the world change something, lets time pass, kills what fate wants dead, passes one batch
through the plane, and checks every law. A crash drops the component that was at work; what is
then started has to recover by itself.
"""

import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.clock import ManualClock
from stretto.base.errors import WentBackError
from stretto.base.failpoints import Crash
from stretto.base.rng import Rng
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.work.claims import ConflictCause
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.faulty.odds import LONGEST_FLIGHT
from stretto_lab.chaos.draws.faults import Fault, FaultDraw
from stretto_lab.chaos.laws.laws import Laws
from stretto_lab.chaos.laws.liveness import check_rest
from stretto_lab.chaos.laws.truth import TrueState
from stretto_lab.chaos.network import ChaosStore, SlowPlane
from stretto_lab.chaos.setup import ChaosSetup, draw
from stretto_lab.chaos.trace import TraceHash
from stretto_lab.chaos.world import ChaosWorld

HEALED_WITHIN: Final = 60.0
"""Virtual seconds after the heal in which all that can be placed must be."""
IN_VAIN_FOR: Final = 20.0
"""Virtual seconds before its end in which nothing may be claimed in vain: a unit that the binder
refuses is tried again at least every ten."""
BUSY: Final = 3000
"""Plane steps at one instant that are taken for a loop without end."""
START: Final = 1000.0
"""Clock time of the first step."""


class SeedResult(msgspec.Struct, frozen=True):
    """What came of one seed."""

    #: The seed.
    seed: int
    #: Steps taken, those of the heal among them.
    steps: int
    #: Virtual seconds that passed.
    seconds: float
    #: Hash of everything that happened.
    trace: str
    #: Faults by kind.
    fired: dict[str, int]
    #: Laws checked, by name.
    checked: dict[str, int]
    #: Binds that became true.
    bound: int
    #: Step at which a law was found broken; -1 when none was.
    failed_at: int
    #: What was broken: ``law N: words``.
    breaches: tuple[str, ...]
    #: Everything that fate let happen, in order.
    happened: tuple[Fault, ...]


class ChaosRun:
    """One seed, one plane after the other, one store."""

    def __init__(
        self, setup: ChaosSetup, folder: Path, only: Collection[Fault] | None = None
    ) -> None:
        """Draw the world; ``only`` lets exactly these faults happen."""
        self._setup = setup
        self._folder = folder
        self._clock = ManualClock(START)
        self._fault_draw = FaultDraw(setup.seed, setup.odds, only)
        self._opened = 0
        self._acknowledged: dict[str, str] = {}
        self._inner = self._open()
        self._store = self._chaos_store()
        self._world = ChaosWorld(setup, self._inner, self._fault_draw)
        self._truth = TrueState(self._inner, self._world)
        self._laws = Laws(self._world, self._truth, self._acknowledged)
        self._laws.lands_whole = setup.lands_whole
        self._trace = TraceHash()
        self._steps = 0
        self._world.begin()
        self._plane = self._new_plane()

    def run(self, steps: int) -> SeedResult:
        """Steps under fire, then the heal."""
        breaches: list[InvariantBreach] = []
        failed_at = -1
        for step in range(steps):
            breaches = self._step(step)
            if breaches:
                failed_at = step
                break
        else:
            breaches = self._heal(steps)
            failed_at = steps if breaches else -1
        self._store.close()
        fate = self._fault_draw
        return SeedResult(
            seed=self._setup.seed,
            steps=self._steps,
            seconds=self._clock.monotonic() - START,
            trace=self._trace.hash(),
            fired={kind: fate.fired[kind] for kind in sorted(fate.fired)},
            checked=dict(sorted(self._laws.checked.items())),
            bound=self._laws.checked["1 binds were claimed"],
            failed_at=failed_at,
            breaches=tuple(f"law {b.law}: {b.what}" for b in breaches),
            happened=tuple(fate.happened),
        )

    # ------------------------------------------------------------ one step

    def _step(self, step: int) -> list[InvariantBreach]:
        fate = self._fault_draw
        fate.begin(step)
        seconds = self._world.turn(step)
        self._clock.advance(seconds)
        if fate.fires("clock_jump"):
            self._clock.jump_wall(fate.rng.choice((-10_800.0, -1.0, 3600.0, 86_400.0)))
        found = self._kill(step)
        return found + self._run_pass(step)

    def _run_pass(self, step: int) -> list[InvariantBreach]:
        """One batch through the plane, and the laws."""
        whole, died = True, ""
        try:
            self._plane.step()
        except Crash as crash:
            whole, died = False, str(crash)
        except WentBackError:  # old lists all the time: the process ends, and another one begins
            with suppress(Crash):
                self._plane.binder.land(self._clock.monotonic())
            self._restart_plane()
            return self._laws.after_step(self._plane, step, whole=False)
        except Exception as error:  # noqa: BLE001  (whatever the plane raises is a finding)
            where = _place_of(error)
            return [
                InvariantBreach(0, f"the plane raised {type(error).__name__}: {error} ({where})")
            ]
        self._steps += 1
        found = self._laws.after_step(self._plane, step, whole=whole)
        if self._plane.pump.synced:
            self._store.fresh = False
        if died:
            found += self._recover(died, step)
        self._note(step, died)
        return found

    def _note(self, step: int, died: str) -> None:
        counts = self._plane.binder.counts
        self._trace.add(step, self._clock.monotonic(), died, sorted(counts.items()))
        self._trace.add(*self._truth.story)
        self._truth.story.clear()

    # ------------------------------------------------------------ deaths

    def _kill(self, step: int) -> list[InvariantBreach]:
        """What dies between two steps."""
        fate, plane, now = self._fault_draw, self._plane, self._clock.monotonic()
        if self._setup.durable and fate.fires("store_crash"):
            return self._crash_store(step)
        if fate.fires("kill_plane"):
            self._restart_plane()
        elif fate.fires("kill_shard"):
            plane.restart_shard(fate.rng.choice(plane.shards).number, now)
        elif fate.fires("kill_binder"):
            plane.restart_binder(now)
        elif fate.fires("kill_pump"):
            plane.pump.close()
        return []

    def _recover(self, name: str, step: int) -> list[InvariantBreach]:
        """A component has died at a failpoint: drop it and start another."""
        plane, now = self._plane, self._clock.monotonic()
        component = name.split(".", maxsplit=1)[0]
        if component == "dispatcher" or self._fault_draw.fires("whole_plane_dies"):
            self._restart_plane()
        elif component == "pump":
            plane.pump.close()
        elif component == "shard":
            for number in [shard.number for shard in plane.shards]:
                plane.restart_shard(number, now)
        else:
            plane.restart_binder(now)
        return self._laws.after_step(self._plane, step, whole=False)

    def _restart_plane(self) -> None:
        """The process dies; the next one waits until no write of the dead can land any more."""
        self._plane.pump.close()
        late = any(self._setup.odds.get(kind) for kind in ("late_request", "late_answer"))
        self._clock.advance(LONGEST_FLIGHT + 0.1 if late else 0.5)
        self._plane = self._new_plane()

    def _crash_store(self, step: int) -> list[InvariantBreach]:
        """The store's process dies, and with it the plane that lives in it."""
        found = self._laws.after_step(self._plane, step, whole=False)
        self._plane.pump.close()
        self._store.close()
        self._inner = self._world.store = self._open()
        found += self._truth.reopen(self._inner, self._inner.version)
        self._store = self._chaos_store()
        self._plane = self._new_plane()
        return found

    def _new_plane(self) -> Plane:
        self._store.fresh = True
        plane = SlowPlane(self._setup.plane_config(), self._store, self._clock, self._fault_draw)
        self._laws.follow_plane(plane)
        return plane

    def _open(self) -> MemoryStore | SqliteStore:
        self._opened += 1
        rng = Rng(self._setup.seed).child("store", self._opened)
        if not self._setup.durable:
            return MemoryStore(self._clock, rng)
        return SqliteStore(self._folder / f"{self._setup.seed}.db", self._clock, rng)

    def _chaos_store(self) -> ChaosStore:
        face = ChaosStore(self._inner, self._fault_draw, self._clock, self._acknowledged)
        if self._setup.odds.get("late_answer"):
            face.delay_answers(self._clock.set)
        if not self._setup.lands_whole:
            face.bind_pod_by_pod()
        return face

    # ------------------------------------------------------------ the heal

    def _heal(self, step: int) -> list[InvariantBreach]:
        """No more faults: within a bounded time everything that can be placed is."""
        self._fault_draw.begin(step)
        self._fault_draw.heal()
        self._store.heal()
        self._world.tenants.lift(self._inner)
        self._world.pushing.release_all(self._inner)
        self._plane.rescheduler.run(None, lambda: self._plane.evictor, self._clock)
        end, refused = self._clock.monotonic() + HEALED_WITHIN, -1
        while True:
            for _ in range(BUSY):
                before = self._plane.binder.counts["granted"]
                moved, found = self._healing_step(step)
                if found:
                    return found
                if not moved and before == self._plane.binder.counts["granted"]:
                    break
            else:
                return [InvariantBreach(3, f"the plane does not come to rest in {BUSY} steps")]
            now = self._clock.monotonic()
            if refused < 0 and now >= end - IN_VAIN_FOR:
                refused = self._refusals()
            if now >= end:
                return self._check_rest(refused)
            self._clock.set(min(end, max(self._plane.next_due(), now + 0.05)))

    def _check_rest(self, refused: int) -> list[InvariantBreach]:
        """What must hold at the end; ``refused`` claims were, a while before it."""
        self._laws.checked["3 nothing is claimed in vain for ever"] += 1
        found = check_rest(self._plane, self._world, self._truth)
        if self._refusals() > refused:
            found.append(InvariantBreach(3, "claims are made and refused again and again"))
        return found

    def _refusals(self) -> int:
        """Claims that this plane's binder has refused so far, preemptions among them."""
        counts = (self._plane.binder.counts, self._plane.evictor.counts)
        return sum(each[cause.value] for each in counts for cause in ConflictCause)

    def _healing_step(self, step: int) -> tuple[bool, list[InvariantBreach]]:
        try:
            moved = self._plane.step()
        except Exception as error:  # noqa: BLE001  (whatever the plane raises is a finding)
            where = _place_of(error)
            return False, [
                InvariantBreach(0, f"the plane raised {type(error).__name__}: {error} ({where})")
            ]
        self._steps += 1
        self._store.fresh = False
        found = self._laws.after_step(self._plane, step + 1, whole=True)
        self._note(step, "")
        return moved, found


def run_seed(
    seed: int, steps: int, only: Collection[Fault] | None = None, setup: ChaosSetup | None = None
) -> SeedResult:
    """Run one seed; files, where it has some, live in a folder that is gone afterwards."""
    setup = setup or draw(seed)
    if not setup.durable:
        return ChaosRun(setup, Path(), only).run(steps)
    with tempfile.TemporaryDirectory() as folder:
        return ChaosRun(setup, Path(folder), only).run(steps)


def total(results: Sequence[SeedResult]) -> Counter[str]:
    """Faults of many runs by kind."""
    faults: Counter[str] = Counter()
    for result in results:
        faults.update(result.fired)
    return faults


def _place_of(error: BaseException) -> str:
    """File and line where an exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
