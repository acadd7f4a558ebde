"""Seeds of a fleet: steps with drawn events, the laws after each, the heal and rest."""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from stretto_lab.chaos.fleets.laws import at_rest, breaches
from stretto_lab.chaos.fleets.world import FleetEvent, FleetWorld

_LOGGER: Final = logging.getLogger("stretto.reconcile.loop")


class FleetSeedResult(msgspec.Struct, frozen=True):
    """What one seed did."""

    #: The seed.
    seed: int
    #: Steps, the heal counted as one.
    steps: int
    #: Events by kind.
    events: dict[str, int]
    #: Breaches of the first step with one; empty for none.
    breaches: tuple[str, ...]
    #: That step; -1 for none.
    failed_at: int = -1


class FleetCampaign(msgspec.Struct):
    """The sum over many seeds."""

    #: Seeds.
    seeds: int = 0
    #: Steps.
    steps: int = 0
    #: Events by kind.
    events: dict[str, int] = {}
    #: Seeds with a breach, with its text.
    failed: dict[int, str] = {}

    def add(self, found: FleetSeedResult) -> None:
        """Count one seed."""
        self.seeds += 1
        self.steps += found.steps
        self.events = dict(Counter(self.events) + Counter(found.events))
        if found.breaches:
            self.failed = {**self.failed, found.seed: "; ".join(found.breaches)}


class _Unexpected(logging.Handler):
    """Collects errors that no controller expects."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def run_seed(seed: int, steps: int) -> FleetSeedResult:
    """Run one seed until a law is broken, or to its rest."""
    unexpected = _Unexpected()
    level, propagates = _LOGGER.level, _LOGGER.propagate
    _LOGGER.addHandler(unexpected)
    _LOGGER.propagate = False
    try:
        return _run(FleetWorld(seed), seed, steps, unexpected.texts)
    finally:
        _LOGGER.removeHandler(unexpected)
        _LOGGER.setLevel(level)
        _LOGGER.propagate = propagates


def _run(world: FleetWorld, seed: int, steps: int, unexpected: list[str]) -> FleetSeedResult:
    events: Counter[str] = Counter()
    for step in range(steps):
        if world.rng.random() < 0.5:
            event = world.rng.choice(list(FleetEvent))
            events[event.value] += world.happen(event)
        world.advance(world.rng.choice([0.0, 0.5, 1.0, 3.0, 10.0]))
        found = (*breaches(world), *unexpected)
        if found:
            return FleetSeedResult(seed, step + 1, dict(events), found, step)
    world.heal()
    found = (*at_rest(world), *unexpected)
    return FleetSeedResult(seed, steps + 1, dict(events), found, steps if found else -1)


def run_campaign(seeds: Iterable[int], steps: int) -> FleetCampaign:
    """Run many seeds."""
    made = FleetCampaign()
    for seed in seeds:
        made.add(run_seed(seed, steps))
    return made
