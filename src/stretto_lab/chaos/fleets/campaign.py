"""Seeds of a fleet: steps with drawn events, laws after each step, the heal, the final state."""

import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final

import msgspec

from stretto.base.clock import BEGIN
from stretto_lab.chaos.fleets.draws import FleetEvent
from stretto_lab.chaos.fleets.events import happen
from stretto_lab.chaos.fleets.laws import FleetLaws
from stretto_lab.chaos.fleets.world import FleetWorld

_LOGGER: Final = logging.getLogger("stretto.reconcile.loop")
Counts = dict[str, int]
"""Counts by name."""


class FleetSeedResult(msgspec.Struct, frozen=True):
    """The result of one seed."""

    #: The seed.
    seed: int
    #: Number of steps; the heal counts as one.
    steps: int
    #: Events by kind.
    events: Counts
    #: Kills of the controllers by the write at which they happened.
    crashes: Counts
    #: Checks by law.
    checked: Counts
    #: Virtual seconds.
    seconds: float
    #: A digest of all versions after every step; equal seeds give equal digests.
    digest: int
    #: Breaches of the first failing step; empty for none.
    breaches: tuple[str, ...]
    #: The failing step; -1 for none.
    failed_at: int = -1


class FleetCampaign(msgspec.Struct):
    """The sum over many seeds."""

    #: Seeds.
    seeds: int = 0
    #: Steps.
    steps: int = 0
    #: Virtual seconds.
    seconds: float = 0.0
    #: Events by kind.
    events: Counts = {}
    #: Kills of the controllers by the write at which they happened.
    crashes: Counts = {}
    #: Checks by law.
    checked: Counts = {}
    #: Seeds with a breach, with its text.
    failed: dict[str, str] = {}

    def add(self, found: FleetSeedResult) -> None:
        """Add the result of one seed."""
        self.seeds += 1
        self.steps += found.steps
        self.seconds += found.seconds
        self.events = _sum(self.events, found.events)
        self.crashes = _sum(self.crashes, found.crashes)
        self.checked = _sum(self.checked, found.checked)
        if found.breaches:
            text = f"step {found.failed_at + 1}: {'; '.join(found.breaches)}"
            self.failed = {**self.failed, str(found.seed): text}


def run_campaign(
    seeds: Iterable[int], steps: int, on_seed: Callable[[FleetCampaign], None] = lambda _: None
) -> FleetCampaign:
    """Run many seeds; after Ctrl-C, return the results of finished ones.

    Raises:
        KeyboardInterrupt: no seed has finished.
    """
    made = FleetCampaign()
    try:
        for seed in seeds:
            made.add(run_seed(seed, steps))
            on_seed(made)
    except KeyboardInterrupt:
        if not made.seeds:
            raise
    return made


def run_seed(seed: int, steps: int) -> FleetSeedResult:
    """Run one seed until a law is broken, or to the end of its heal."""
    unexpected = _Unexpected()
    propagates, _LOGGER.propagate = _LOGGER.propagate, False
    _LOGGER.addHandler(unexpected)
    try:
        return _SeedRun(seed, unexpected.texts).result(steps)
    finally:
        _LOGGER.removeHandler(unexpected)
        _LOGGER.propagate = propagates


class _Unexpected(logging.Handler):
    """Collects logged errors that no controller handles."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


class _SeedRun:
    """One seed while it runs."""

    def __init__(self, seed: int, unexpected: list[str]) -> None:
        self._seed = seed
        self._unexpected = unexpected
        self._world = FleetWorld(seed)
        self._laws = FleetLaws(self._world)
        self._events: Counter[str] = Counter()
        self._digest = 0

    def result(self, steps: int) -> FleetSeedResult:
        """Run to the first breach, or to the end of the heal."""
        for step in range(steps):
            found = self._attempt(self._step) or tuple(self._laws.breaches())
            if found or self._unexpected:
                return self._made(step + 1, found)
        found = self._attempt(self._world.heal) or tuple(self._laws.at_rest())
        return self._made(steps + 1, found)

    def _step(self) -> None:
        world = self._world
        if world.rng.random() < world.draw.rate:
            event: FleetEvent = world.rng.choice(world.draw.events)
            self._events[event.value] += happen(world, event)
        world.move()
        members = (member.store.version for member in world.fleet.members.values())
        for version in chain((world.fleet.host.version,), members):
            self._digest = zlib.crc32(version.to_bytes(8, "big"), self._digest)

    def _attempt(self, action: Callable[[], None]) -> tuple[str, ...]:
        """Run an action; an exception of the fleet is a breach."""
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever escapes is a finding
            return (f"the fleet stops: {type(error).__name__}: {error}",)
        return ()

    def _made(self, steps: int, breaches: tuple[str, ...]) -> FleetSeedResult:
        world, found = self._world, (*breaches, *self._unexpected)
        return FleetSeedResult(
            seed=self._seed,
            steps=steps,
            events=dict(self._events),
            crashes=dict(world.crashes),
            checked=dict(self._laws.checked),
            seconds=world.fleet.clock.monotonic() - BEGIN,
            digest=self._digest,
            breaches=found,
            failed_at=steps - 1 if found else -1,
        )


def _sum(first: Counts, second: Counts) -> Counts:
    return dict(Counter(first) + Counter(second))
