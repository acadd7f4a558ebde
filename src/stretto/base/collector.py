"""Python's collector of cyclic garbage, for a process that holds a cluster.

Rows, records and heads hold no cycles and are not even looked at, but units, tags and tuples on
their way are: with Python's own thresholds a busy scheduler spends a tenth of its time on looking
through them in vain, and a look through everything stops it for a tenth of a second.
"""

import gc
from typing import Final

YOUNG: Final = 50_000
"""New objects after which the young are looked through; Python's own number is 700."""
MIDDLE: Final = 20
"""Looks through the young after which the middle ones are looked through."""
OLD: Final = 50
"""Looks through the middle ones after which all are, if there are enough new ones."""


def look_seldom() -> None:
    """Set the thresholds of this process; for programs, which own theirs, not for libraries."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def settle() -> None:
    """What is there now stays: collect once, then leave it out of all later looks."""
    gc.collect()
    gc.freeze()
