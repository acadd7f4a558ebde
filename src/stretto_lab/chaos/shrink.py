"""Shrinking: find a minimal list of faults and changes that break the same law (delta debugging).

The faults and changes of the failing run form a list. The run is repeated with parts of it masked;
a part stays masked if the law still breaks. The seed still draws the world and the plane.
"""

from collections.abc import Callable, Sequence
from typing import Final

from stretto_lab.chaos.draws.faults import Fault
from stretto_lab.chaos.run import SeedResult, run_seed
from stretto_lab.chaos.trace import ChaosFailure

MOST_RUNS: Final = 300
"""Maximum number of runs, after which the smallest list so far is the result."""


class Shrinker:
    """Repeats a failing run with fewer faults."""

    def __init__(self, result: SeedResult, steps: int, most_runs: int = MOST_RUNS) -> None:
        """Initialize with the failing run and its number of steps."""
        #: Runs so far.
        self.runs = 0
        self._result = result
        self._law = _law(result)
        self._most = most_runs
        self._steps = steps if result.failed_at >= steps else result.failed_at + 1
        self._breaches = result.breaches

    def shrink(self) -> ChaosFailure:
        """Return the smallest failure found."""
        faults = list(self._result.happened)
        if self._fails(faults):
            faults = minimal(faults, self._fails)
        return ChaosFailure(self._result.seed, self._steps, self._breaches, tuple(faults))

    def _fails(self, faults: Sequence[Fault]) -> bool:
        if self.runs >= self._most:
            return False
        self.runs += 1
        result = run_seed(self._result.seed, self._steps, only=faults)
        if not result.breaches or _law(result) != self._law:
            return False
        self._breaches = result.breaches
        return True


def minimal(items: list[Fault], fails: Callable[[Sequence[Fault]], bool]) -> list[Fault]:
    """A subset of the items that still fails and from which no chunk can be removed.

    >>> made = [Fault(step, "crash", 0) for step in range(20)]
    >>> wanted = {made[3], made[7]}
    >>> [each.step for each in minimal(made, lambda part: wanted <= set(part))]
    [3, 7]
    """
    parts = 2
    while len(items) >= 2:
        size = max(1, len(items) // parts)
        for start in range(0, len(items), size):
            rest = items[:start] + items[start + size :]
            if fails(rest):
                items, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(len(items), parts * 2)
    return items


def _law(result: SeedResult) -> str:
    """Name of the first violated law; empty if there is none."""
    return result.breaches[0].split(":", maxsplit=1)[0] if result.breaches else ""
