"""One seed's run: the real plane over a faulty store in virtual time, then the heal.

A step changes objects of the world, advances the clock, applies the drawn crashes, runs one step of
the plane and checks every law.
"""

import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import WentBackError
from stretto.base.failpoints import Crash
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.work.claims import ConflictCause
from stretto.state.work.units import Cure
from stretto_lab.chaos.draws.faults import Fault
from stretto_lab.chaos.environment import ChaosEnvironment
from stretto_lab.chaos.laws.liveness import check_rest, releases
from stretto_lab.chaos.setup import HOSTS_FAILPOINT, START, ChaosSetup, draw
from stretto_lab.chaos.trace import TraceHash

HEALED_WITHIN: Final = 60.0
"""Virtual seconds after the heal within which every pod that fits must be placed."""
STABLE_FOR: Final = 20.0
"""Virtual seconds at the end of the heal in which no claim may be refused.

A refused unit is retried at least every ten seconds.
"""
MOST_WAITS: Final = 3
"""Maximum number of waits of ``STABLE_FOR`` for a period without a release of capacity.

Claims of several shards compete for released capacity, and all but one of them are refused once.
"""
AWAKE_FOR: Final = 10.0
"""Seconds after waking all units in which none of them may get a node."""
BUSY: Final = 3000
"""Number of plane steps at one instant that counts as an endless loop."""


class SeedResult(msgspec.Struct, frozen=True):
    """Result of one seed."""

    #: The seed.
    seed: int
    #: Steps, including those of the heal.
    steps: int
    #: Virtual seconds.
    seconds: float
    #: Hash of the whole run.
    trace: str
    #: Faults by kind.
    fired: dict[str, int]
    #: Number of checks by law.
    checked: dict[str, int]
    #: Confirmed binds.
    bound: int
    #: Step at which a law was violated; -1 for none.
    failed_at: int
    #: Breaches: ``law N: message``.
    breaches: tuple[str, ...]
    #: All faults and changes, in order.
    happened: tuple[Fault, ...]


class ChaosRun:
    """The steps of one seed, and its heal."""

    def __init__(
        self, setup: ChaosSetup, folder: Path, only: Collection[Fault] | None = None
    ) -> None:
        """Draw the world; ``only`` fires exactly these faults."""
        self._environment = ChaosEnvironment(setup, folder, only)
        self._trace = TraceHash()
        self._steps = 0

    def run(self, steps: int) -> SeedResult:
        """Run the steps with faults, then the heal."""
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
        environment = self._environment
        environment.close()
        faults, checked = environment.fault_draw, environment.laws.checked
        return SeedResult(
            seed=environment.setup.seed,
            steps=self._steps,
            seconds=environment.clock.monotonic() - START,
            trace=self._trace.hash(),
            fired={kind: faults.fired[kind] for kind in sorted(faults.fired)},
            checked=dict(sorted(checked.items())),
            bound=checked["1 binds were claimed"],
            failed_at=failed_at,
            breaches=tuple(f"law {b.law}: {b.what}" for b in breaches),
            happened=tuple(faults.happened),
        )

    # ------------------------------------------------------------ one step

    def _step(self, step: int) -> list[InvariantBreach]:
        environment = self._environment
        faults = environment.fault_draw
        faults.begin(step)
        seconds = environment.world.turn(step)
        environment.clock.advance(seconds)
        if faults.fires("clock_jump"):
            environment.clock.jump_wall(faults.rng.choice((-10_800.0, -1.0, 3600.0, 86_400.0)))
        found = self._crash_between_steps(step)
        return found + self._run_pass(step)

    def _run_pass(self, step: int) -> list[InvariantBreach]:
        """Run one step of the plane and check the laws."""
        environment = self._environment
        whole, failpoint = True, ""
        try:
            environment.plane.step()
        except Crash as crash:
            whole, failpoint = False, str(crash)
        except WentBackError:  # the process ends after repeated stale lists, and a new one starts
            with suppress(Crash):
                environment.plane.binder.land(environment.clock.monotonic())
            environment.restart_plane()
            return self._check(step, whole=False)
        except Exception as error:  # noqa: BLE001  (any exception of the plane is a finding)
            return [_raised(error)]
        self._steps += 1
        if failpoint == HOSTS_FAILPOINT:  # the next binder releases tentative claims
            found = environment.laws.after_undecided_claims(environment.plane)
        else:
            found = self._check(step, whole=whole)
        if environment.plane.pump.synced:
            environment.store.fresh = False
        if failpoint:
            environment.restart_component(failpoint)
            found += self._check(step, whole=False)
        self._note(step, failpoint)
        return found

    def _check(self, step: int, *, whole: bool) -> list[InvariantBreach]:
        environment = self._environment
        return environment.laws.after_step(environment.plane, step, whole=whole)

    def _note(self, step: int, failpoint: str) -> None:
        environment = self._environment
        counts = environment.plane.binder.counts
        self._trace.add(step, environment.clock.monotonic(), failpoint, sorted(counts.items()))
        self._trace.add(*environment.truth.changes)
        environment.truth.changes.clear()

    # ------------------------------------------------------------ crashes

    def _crash_between_steps(self, step: int) -> list[InvariantBreach]:
        """Apply the crashes that are drawn between two steps."""
        environment = self._environment
        faults, plane = environment.fault_draw, environment.plane
        now = environment.clock.monotonic()
        if environment.setup.durable and faults.fires("store_crash"):
            return self._crash_store(step)
        if faults.fires("kill_plane"):
            environment.restart_plane()
        elif faults.fires("kill_shard"):
            plane.restart_shard(faults.rng.choice(plane.shards).number, now)
        elif faults.fires("kill_binder"):
            plane.restart_binder(now)
        elif faults.fires("kill_pump"):
            plane.pump.close()
        return []

    def _crash_store(self, step: int) -> list[InvariantBreach]:
        """Crash the store with its plane, and compare the reopened store with the true state."""
        found, environment = self._check(step, whole=False), self._environment
        environment.close_plane_and_store()
        found += environment.truth.reopen(environment.inner, environment.inner.version)
        environment.start_plane_on_new_store()
        return found

    # ------------------------------------------------------------ the heal

    def _heal(self, step: int) -> list[InvariantBreach]:
        """Stop all faults: every pod that fits must be placed within a bounded time."""
        environment = self._environment
        environment.heal(step)
        checked, refused = environment.laws.checked, 0
        end = environment.clock.monotonic() + HEALED_WITHIN
        found = self._settle(step, end - STABLE_FOR)
        for wait in range(0 if found else MOST_WAITS):
            refused, released = self._refusals(), releases(checked)
            found = self._settle(step, end + wait * STABLE_FOR)
            if found or releases(checked) == released:
                break
        return found or self._check_rest(refused) or self._wake_all(step)

    def _settle(self, step: int, end: float) -> list[InvariantBreach]:
        """Run the plane until a clock time."""
        environment = self._environment
        while True:
            for _ in range(BUSY):
                before = environment.plane.binder.counts["granted"]
                moved, found = self._healing_step(step)
                if found:
                    return found
                if not moved and before == environment.plane.binder.counts["granted"]:
                    break
            else:
                return [InvariantBreach(3, f"the plane is not idle after {BUSY} steps")]
            now = environment.clock.monotonic()
            if now >= end:
                return []
            environment.clock.set(min(end, max(environment.plane.next_due(), now + 0.05)))

    def _wake_all(self, step: int) -> list[InvariantBreach]:
        """Retry every unit as if all events had occurred: a unit that gets a node missed its cure.

        This finds missed cures of states in transit (a bind, an eviction, a back-off). If the plane
        releases capacity for no unit meanwhile (a gang at its deadline, a move), the result does
        not count, because the release is a separate event.
        """
        environment, laws = self._environment, self._environment.laws
        plane, now = environment.plane, environment.clock.monotonic()
        pending = {pod.uid: pod.name for pod in environment.truth.wanted()}
        before = releases(laws.checked)
        plane.dispatcher.timers.wake(Cure.ANY, lambda _: 1 << 30, now)
        plane.wake()
        found = self._settle(step, now + AWAKE_FOR)
        if releases(laws.checked) > before:
            return found
        laws.checked["3 no pending pod has missed its cure"] += len(pending)
        for uid in pending.keys() - {pod.uid for pod in environment.truth.wanted()}:
            text = f"pod {pending[uid]} gets a node once it is tried, and no event woke it"
            found.append(InvariantBreach(3, text))
        return sorted(found)

    def _check_rest(self, refused: int) -> list[InvariantBreach]:
        """Check the final state; ``refused`` is the number of refusals at the start of the wait."""
        environment = self._environment
        environment.laws.checked["3 no claim is refused repeatedly"] += 1
        found = check_rest(environment.plane, environment.world, environment.truth)
        if self._refusals() > refused:
            found.append(InvariantBreach(3, "claims are made and refused repeatedly"))
        return found

    def _refusals(self) -> int:
        """Claims that the binder of the current plane has refused, including preemptions."""
        plane = self._environment.plane
        counts = (plane.binder.counts, plane.evictor.counts)
        return sum(each[cause.value] for each in counts for cause in ConflictCause)

    def _healing_step(self, step: int) -> tuple[bool, list[InvariantBreach]]:
        environment = self._environment
        environment.world.recreate_evicted()
        try:
            moved = environment.plane.step()
        except Exception as error:  # noqa: BLE001  (any exception of the plane is a finding)
            return False, [_raised(error)]
        self._steps += 1
        environment.store.fresh = False
        found = self._check(step + 1, whole=True)
        self._note(step, "")
        return moved, found


def run_seed(
    seed: int, steps: int, only: Collection[Fault] | None = None, setup: ChaosSetup | None = None
) -> SeedResult:
    """Run one seed; its files are in a temporary folder."""
    setup = setup or draw(seed)
    if not setup.durable:
        return ChaosRun(setup, Path(), only).run(steps)
    with tempfile.TemporaryDirectory() as folder:
        return ChaosRun(setup, Path(folder), only).run(steps)


def total(results: Sequence[SeedResult]) -> Counter[str]:
    """Faults of several runs by kind."""
    faults: Counter[str] = Counter()
    for result in results:
        faults.update(result.fired)
    return faults


def _raised(error: BaseException) -> InvariantBreach:
    """An exception of the plane as a breach."""
    text = f"the plane raised {type(error).__name__}: {error} ({_place_of(error)})"
    return InvariantBreach(0, text)


def _place_of(error: BaseException) -> str:
    """File and line where an exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "no traceback"
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
