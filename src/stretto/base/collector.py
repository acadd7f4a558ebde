"""Settings of Python's cyclic garbage collector for a process that holds a cluster.

Rows, records and heads contain no cycles and are not tracked, but units, tags and tuples are. With
Python's default thresholds a busy scheduler spends a tenth of its time on collections that free
nothing, and a full collection pauses it for a tenth of a second.
"""

import gc
from typing import Final, Self

YOUNG: Final = 50_000
"""New objects per collection of the young generation; Python's default is 700."""
MIDDLE: Final = 20
"""Young collections per collection of the middle generation."""
OLD: Final = 50
"""Middle collections per full collection, if enough objects are new."""
SPARED: Final = 1_000_000
"""New objects that justify a full collection when the loop is idle."""
LIMIT: Final = 20 * SPARED
"""New objects that force a full collection even under load."""


def set_thresholds() -> None:
    """Set the thresholds of this process; only programs call this function, not libraries."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def settle() -> None:
    """Collect once, then exclude all live objects from later collections."""
    gc.collect()
    gc.freeze()


class Pace:
    """Context manager: defer collections that would pause a loop with millisecond deadlines.

    A collection of 50,000 young objects takes 30 ms. Instead, young objects are frozen, which takes
    no time. An idle loop runs a full collection once enough objects are new. Reference counting
    still frees acyclic objects at once, and nearly all objects are acyclic.
    """

    def __init__(self, spared: int = SPARED) -> None:
        """Defer until ``spared`` new objects exist and the loop is idle."""
        self._spared = spared
        self._new = 0

    def __enter__(self) -> Self:
        """Start deferring."""
        gc.callbacks.append(self._put_by)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop deferring; Python's own collections take over."""
        gc.callbacks.remove(self._put_by)
        gc.unfreeze()

    def spare(self, *, idle: bool) -> None:
        """Run a full collection if one is due; the loop calls this once per round."""
        if self._new >= (self._spared if idle else LIMIT):
            self.catch_up()

    def catch_up(self) -> None:
        """Run a full collection now."""
        self._new = 0
        gc.unfreeze()
        settle()

    def _put_by(self, phase: str, about: dict[str, int]) -> None:
        """Freeze the young generation when a collection starts; the collection then skips it."""
        if phase == "start" and about["generation"] == 0:
            self._new += gc.get_count()[0]
            gc.freeze()
