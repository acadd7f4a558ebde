"""Python's collector of cyclic garbage, for a process that holds a cluster.

Rows, records and heads hold no cycles and are not even looked at, but units, tags and tuples on
their way are: with Python's own thresholds a busy scheduler spends a tenth of its time on looking
through them in vain, and a look through everything stops it for a tenth of a second.
"""

import gc
from typing import Final, Self

YOUNG: Final = 50_000
"""New objects after which the young are looked through; Python's own number is 700."""
MIDDLE: Final = 20
"""Looks through the young after which the middle ones are looked through."""
OLD: Final = 50
"""Looks through the middle ones after which all are, if there are enough new ones."""
SPARED: Final = 1_000_000
"""New objects that are worth a look through everything once there is nothing else to do."""
LIMIT: Final = 20 * SPARED
"""New objects after which everything is looked through, whatever waits."""


def set_thresholds() -> None:
    """Set the thresholds of this process; for programs, which own theirs, not for libraries."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def settle() -> None:
    """What is there now stays: collect once, then leave it out of all later looks."""
    gc.collect()
    gc.freeze()


class Pace:
    """While entered, no look stops a loop that answers within milliseconds.

    A look through 50,000 young objects takes 30 ms. So they are put by unseen, which takes no time,
    and a loop that has nothing to do looks through everything once there is enough of it. What has
    no cycles, nearly all, is freed at once as ever.
    """

    def __init__(self, spared: int = SPARED) -> None:
        """Put by until there are ``spared`` new objects and a moment to look through them."""
        self._spared = spared
        self._new = 0

    def __enter__(self) -> Self:
        """Begin."""
        gc.callbacks.append(self._put_by)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the rest to the looks that Python takes by itself."""
        gc.callbacks.remove(self._put_by)
        gc.unfreeze()

    def spare(self, *, idle: bool) -> None:
        """Called once a round of the loop: look through everything if it is time for that."""
        if self._new >= (self._spared if idle else LIMIT):
            self.catch_up()

    def catch_up(self) -> None:
        """Look through everything now."""
        self._new = 0
        gc.unfreeze()
        settle()

    def _put_by(self, phase: str, about: dict[str, int]) -> None:
        """What is frozen when a look begins is not looked at."""
        if phase == "start" and about["generation"] == 0:
            self._new += gc.get_count()[0]
            gc.freeze()
