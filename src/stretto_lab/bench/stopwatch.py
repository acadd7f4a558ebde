"""Stopwatches around the parts of a plane: where a run's time goes.

A stopwatch replaces one method of one object by itself and counts the seconds spent inside; what
inner stopwatches count is taken off the outer one, so that the shares add up.
"""

from collections.abc import Callable
from typing import Any

from stretto.base.clock import Clock


class Stopwatches:
    """A set of stopwatches that know of one another."""

    def __init__(self, clock: Clock) -> None:
        """No stopwatch yet; ``clock`` tells the seconds."""
        #: Seconds by stage, inner stages taken off.
        self.seconds: dict[str, float] = {}
        self._clock = clock
        self._inner: list[float] = []

    def wrap(self, owner: Any, method: str, stage: str) -> None:
        """Count the seconds that ``owner.method`` takes under a stage."""
        original = getattr(owner, method)
        setattr(owner, method, self.around(original, stage))

    def around(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The same function, timed under a stage."""
        self.seconds.setdefault(stage, 0.0)
        monotonic = self._clock.monotonic

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = monotonic()
            self._inner.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                took = monotonic() - start
                self.seconds[stage] += took - self._inner.pop()
                if self._inner:
                    self._inner[-1] += took

        return timed

    def shares(self, total: float) -> dict[str, float]:
        """Part of a total spent in each stage, and in none (``other``)."""
        shares = {stage: round(s / total, 4) for stage, s in self.seconds.items()}
        shares["other"] = round(max(0.0, 1 - sum(self.seconds.values()) / total), 4)
        return shares

    def clear(self) -> None:
        """Back to zero."""
        for stage in self.seconds:
            self.seconds[stage] = 0.0
