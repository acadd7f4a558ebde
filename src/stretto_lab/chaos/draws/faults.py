"""Fault draws: a decision about a fault depends only on seed, step, kind and count.

With one random stream, omitting one fault would shift all later ones. Here each decision is
independent: the k-th decision of a kind at a step is the same in every run of a seed, so one fault
can be masked without changing the others. A replay lists the faults that happen and draws nothing.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from stretto.base.rng import Rng
from stretto.stores.faulty.odds import NO_FAULTS
from stretto.stores.faulty.watch import FaultChance

_MASK: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
WORLD: Final = "world"
"""Kind of the world's own changes, which can be masked like faults."""


class Fault(NamedTuple):
    """One fault or change."""

    #: Step of the run.
    step: int
    #: Kind: a name of ``FaultOdds``, ``crash NAME``, ``clock_jump``, ``world`` and the like.
    kind: str
    #: Index among the decisions of that kind at that step, from 0.
    nth: int


class FaultDraw(FaultChance):
    """Decides about faults and records them."""

    def __init__(
        self, seed: int, odds: Mapping[str, float], only: Collection[Fault] | None = None
    ) -> None:
        """Draw by odds, or fire exactly the faults of ``only``."""
        super().__init__(NO_FAULTS, Rng(seed))
        #: All faults and changes so far, in order.
        self.happened: list[Fault] = []
        #: True if faults may happen; changes of the world do not depend on it.
        self.active: bool = True
        #: The current step.
        self.step: int = -1
        self._table = dict(odds)
        self._only = None if only is None else frozenset(only)
        self._seed = seed
        self._keys = {kind: _mix(seed ^ _word(kind)) for kind in (*self._table, WORLD)}
        self._counts: Counter[str] = Counter()

    def begin(self, step: int) -> None:
        """Begin a step: reset the counts and the stream for sizes and delays."""
        self.step = step
        self._counts.clear()
        self.rng = Rng(_mix(self._seed + step))

    def heal(self) -> None:
        """Stop all faults."""
        self.active = False

    def fires(self, fault: str) -> bool:
        """Decide if a fault happens now."""
        if not self.active:
            return False
        if self._only is None:
            odds = self._table.get(fault, 0.0)
            if odds <= 0.0:
                return False
            return self._decide(fault, odds)
        return self._decide(fault, 1.0)

    def world(self) -> bool:
        """Decide if the next change of the world takes place: always, unless it is masked."""
        return self._decide(WORLD, 1.0)

    def _decide(self, kind: str, odds: float) -> bool:
        nth = self._counts[kind]
        self._counts[kind] = nth + 1
        fault = Fault(self.step, kind, nth)
        if self._only is not None:
            happens = fault in self._only
        else:
            happens = odds >= 1.0 or self._drawn(kind, nth) < odds
        if happens:
            self.happened.append(fault)
            self.fired[kind] += 1
        return happens

    def _drawn(self, kind: str, nth: int) -> float:
        return _mix(self._keys[kind] ^ (self.step << 20) ^ nth) / 2.0**64


def _word(text: str) -> int:
    """A number for a kind, the same under any PYTHONHASHSEED."""
    return Rng(0).child(text).seed


def _mix(value: int) -> int:
    """Scramble 64 bits (splitmix64)."""
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
