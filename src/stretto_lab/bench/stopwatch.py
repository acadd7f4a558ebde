"""Stopwatches for the parts of a plane: the time of each stage.

A stopwatch replaces one method of one object and measures the seconds inside. The time of inner
stopwatches is subtracted from outer ones, so that the shares add up.
"""

from collections.abc import Callable
from typing import Any

from stretto.base.clock import Clock


class Stopwatches:
    """A set of nested stopwatches."""

    def __init__(self, clock: Clock) -> None:
        """Start without stopwatches; ``clock`` measures the seconds."""
        #: Seconds by stage, without inner stages.
        self.seconds: dict[str, float] = {}
        self._clock = clock
        self._inner: list[float] = []

    def wrap(self, owner: Any, method: str, stage: str) -> None:
        """Count the time of ``owner.method`` for a stage."""
        original = getattr(owner, method)
        setattr(owner, method, self.around(original, stage))

    def around(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function, timed for a stage."""
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
        """Share of a total by stage, and the rest as ``other``."""
        shares = {stage: round(s / total, 4) for stage, s in self.seconds.items()}
        shares["other"] = round(max(0.0, 1 - sum(self.seconds.values()) / total), 4)
        return shares

    def clear(self) -> None:
        """Reset all stages."""
        for stage in self.seconds:
            self.seconds[stage] = 0.0
