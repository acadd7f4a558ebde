"""Figures over many simulated rollouts."""

from collections.abc import Iterable

import msgspec

from stretto.base.rng import Rng
from stretto_lab.studies.rollout.world import RolloutOutcome, RolloutWorld


class RolloutFigures(msgspec.Struct):
    """Totals of many simulated rollouts."""

    #: Simulated rollouts.
    rollouts: int = 0
    #: Ticks in all of them.
    ticks: int = 0
    #: Events from outside in all of them.
    events: int = 0
    #: Rollouts with pods above the limit.
    above: int = 0
    #: Rollouts with too few available pods.
    below: int = 0
    #: Rollouts that never finished.
    unfinished: int = 0

    def add(self, outcome: RolloutOutcome) -> None:
        """Count one rollout."""
        self.rollouts += 1
        self.ticks += outcome.ticks
        self.events += outcome.events
        self.above += outcome.above > 0
        self.below += outcome.below > 0
        self.unfinished += not outcome.finished


def measure(seeds: Iterable[int], events: int) -> RolloutFigures:
    """Simulate one rollout for each seed, with up to ``events`` events."""
    figures = RolloutFigures()
    for seed in seeds:
        figures.add(RolloutWorld(Rng(seed), events=events).run())
    return figures
