"""A seed of the fault simulator of offers: a pool, its steps and its laws."""

from collections.abc import Iterator

from stretto_lab.chaos.offers.laws import OfferLaws
from stretto_lab.chaos.offers.steps import OfferSteps


class OfferPlay:
    """The pool of one seed with its laws."""

    def __init__(self, seed: int) -> None:
        """Create the pool before its first step."""
        self._pool = OfferSteps(seed)
        self._laws = OfferLaws(self._pool)

    def step(self) -> None:
        """Run the next step."""
        self._pool.step()

    def breaches(self) -> Iterator[str]:
        """Laws that are violated after a step."""
        return self._laws.breaches()

    def sample(self) -> object:
        """The step, the numbers of offers and tasks, and the first offers."""
        pool, master = self._pool, self._pool.master
        return pool.trace[-1], len(master.offers), len(master.tasks), sorted(master.offers)[:3]

    def settle(self) -> str:
        """The first law that is violated after a cycle without offers."""
        return next(self._laws.closed(), "")

    def close(self) -> None:
        """Do nothing; there are no resources to release."""
