"""A seed of the fault simulator of one pool: pods and frameworks, their steps and their laws."""

from collections.abc import Iterator
from typing import Final

from stretto_lab.chaos.pool.laws import PoolLaws
from stretto_lab.chaos.pool.world import PoolWorld

HEAL_STEPS: Final = 40
"""Number of rounds of five seconds after the last fault."""


class PoolPlay:
    """The pool of one seed with its laws."""

    def __init__(self, seed: int) -> None:
        """Create the pool before its first step."""
        self._world = PoolWorld(seed)
        self._laws = PoolLaws(self._world)

    def step(self) -> None:
        """Run the next step."""
        self._world.step()

    def breaches(self) -> Iterator[str]:
        """Laws that are violated after a step."""
        return self._laws.breaches()

    def sample(self) -> object:
        """The step, the offers and the number of pods."""
        world = self._world
        offers = sorted(each.id for each in world.master.state.offers)
        return world.trace[-1], offers, len(world.pods())

    def settle(self) -> str:
        """End all faults; return the first law that is violated during the heal or at its end."""
        self._world.heal()
        for _ in range(HEAL_STEPS):
            self._world.recover()
            breach = next(self._laws.breaches(), "")
            if breach:
                return breach
        return next(self._laws.healed(), "")

    def close(self) -> None:
        """Close the store and the plane."""
        self._world.pool.close()
