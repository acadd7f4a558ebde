"""Overcommit of nodes: the multiple of its physical amounts that a node promises, by resource.

The amounts of pods with exclusive cores count once. The ratio multiplies only the rest, as in
Katalyst's controller of overcommitted nodes. ``capacity`` chooses the ratios. This module contains
the columns from which the ledger computes the allocatable amounts.
"""

from collections.abc import Callable, Iterable, KeysView, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.amounts import add_amounts

IntColumn = npt.NDArray[np.int64]
"""int64[slot]: amounts of a resource."""
NOT_SET: Final = -1
"""Real amount of a slot that does not promise more of the resource."""
BINARY: Final = 1 << 20
"""Denominator: products of amounts with ratios that are multiples of 1 / 2**20 are exact."""
DECIMAL: Final = 100
"""Largest denominator of other ratios whose truncated products are known: two decimal places."""
ROUNDING: Final = 1 << 53
"""Inverse of the largest relative error of a rounded product."""


class RatioBound(Enum):
    """The bound of the ratio of a resource of a node."""

    #: The hard cap of the node pool.
    CAP = "the cap of its node pool"
    #: The configured ratio of a NodeOvercommitConfig or of the pool.
    STATIC = "the configured ratio"
    #: The dynamic coefficient of the scenario.
    SCENARIO = "the coefficient of its scenario"
    #: The ratio that the measured load allows.
    MEASURED = "its measured load"
    #: Missing or outdated metrics.
    STALE = "missing or old metrics"
    #: The environment of the node, which does not allow overcommit of the resource.
    ENVIRONMENT = "its environment"


class NodeRatio(NamedTuple):
    """The ratio of one resource of a node."""

    #: Promised amount per real amount; at least 1.
    ratio: float
    #: Highest ratio that the node pool allows; at least 1.
    cap: float
    #: Bound of the ratio.
    bound: RatioBound


def amplified(original: int, exclusive: int, ratio: float) -> int:
    """An amount of a node after overcommit.

    Args:
        original: real amount.
        exclusive: the part that pods use exclusively, in the same unit.
        ratio: promised amount per real amount.

    Returns:
        The exclusive part plus the rest times the ratio, truncated. It is below the real amount
        where the exclusive part is above it, as in Katalyst.
    """
    if ratio <= 1.0:
        return original
    return int((original - exclusive) * ratio) + exclusive


def promised(original: int, exclusive: int, ratio: float) -> int:
    """Promised amount: ``amplified``, and at least the real amount."""
    return max(original, amplified(original, exclusive, ratio))


class PromisedAmounts:
    """Ratios, caps, real and exclusive amounts by resource column and slot."""

    def __init__(self) -> None:
        """Start without overcommit."""
        #: Ratios by slot and resource column.
        self.ratios: dict[int, dict[int, NodeRatio]] = {}
        self._real: dict[int, dict[int, int]] = {}
        self._real_columns: dict[int, IntColumn] = {}
        self._exclusive: dict[int, dict[int, int]] = {}

    def clear(self, slot: int) -> None:
        """Drop a slot whose node is removed."""
        for table in (self.ratios, self._real, self._exclusive):
            table.pop(slot, None)
        self._write_real(slot)

    def set_ratios(self, slot: int, ratios: Mapping[int, NodeRatio]) -> bool:
        """Set the ratios of a slot; returns whether a ratio or a cap changed."""
        before = self.ratios.get(slot, {})
        if ratios:
            self.ratios[slot] = dict(ratios)
        else:
            self.ratios.pop(slot, None)
        return {c: each[:2] for c, each in before.items()} != {
            c: each[:2] for c, each in ratios.items()
        }

    def promise(self, slot: int, amounts: Mapping[int, int]) -> dict[int, int]:
        """Allocatable amounts for the real amounts of a slot, by resource column."""
        ratios = self.ratios.get(slot)
        if not ratios:
            self._real.pop(slot, None)
            self._write_real(slot)
            return dict(amounts)
        self._real[slot] = {column: amounts.get(column, 0) for column in ratios}
        self._write_real(slot)
        return {column: self._promised(slot, column, real) for column, real in amounts.items()}

    def real(self, slot: int) -> Mapping[int, int]:
        """Real amounts of the resources with a ratio on a slot, by column."""
        return self._real.get(slot, {})

    def cap(self, slot: int) -> dict[int, int]:
        """Largest amounts that a slot may ever promise, by column of the resources with a ratio."""
        ratios = self.ratios.get(slot, {})
        return {
            column: promised(real, self._held(slot, column), ratios[column].cap)
            for column, real in self.real(slot).items()
        }

    def is_overcommitted(self, slot: int) -> bool:
        """Return whether a slot has ratios, so that exclusive amounts are tracked on it."""
        return slot in self.ratios

    def hold(self, slot: int, amounts: Mapping[int, int], sign: int = 1) -> dict[int, int]:
        """Add exclusive amounts (or with ``sign`` -1 remove them); see ``with_held``."""
        after = self.with_held(slot, {column: sign * n for column, n in amounts.items()})
        held = self._exclusive.setdefault(slot, {})
        add_amounts(held, amounts.items(), sign)
        if not any(held.values()):
            del self._exclusive[slot]
        return after

    def with_held(self, slot: int, more: Mapping[int, int]) -> dict[int, int]:
        """Allocatable amounts of the overcommitted resources with more exclusive amounts."""
        ratios = self.ratios.get(slot, {})
        return {
            column: promised(real, self._held(slot, column) + more[column], ratios[column].ratio)
            for column, real in self.real(slot).items()
            if column in more
        }

    def lost(self, slot: int, amounts: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Maximum reduction of a slot's promise by exclusive amounts, by column, no zeros."""
        return self._changed(slot, amounts, _lost)

    def regained(self, slot: int, amounts: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Minimum increase of a slot's promise without exclusive amounts, by column, no zeros."""
        return self._changed(slot, amounts, _regained)

    def held_on(self, slot: int) -> dict[int, int]:
        """Exclusive amounts on a slot by column, without zeros."""
        return {column: n for column, n in self._exclusive.get(slot, {}).items() if n}

    def holding(self) -> KeysView[int]:
        """Slots with exclusive amounts."""
        return self._exclusive.keys()

    def ratio_on(self, column: int, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """float64[k]: the ratio of a resource on some slots; 1 without overcommit."""
        found = np.ones(len(slots), np.float64)
        if self.ratios:
            for i, slot in enumerate(slots.tolist()):
                each = self.ratios.get(slot, {}).get(column)
                if each is not None:
                    found[i] = each.ratio
        return found

    def real_on(
        self, column: int, slots: npt.NDArray[np.int64], promised: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """int64[k]: real amounts of a resource on some slots, given their promised amounts."""
        row = self._real_columns.get(column)
        if row is None or not len(slots):
            return promised
        real = self._grown(column, int(slots.max()) + 1)[slots]
        return np.where(real >= 0, real, promised)

    def promised_on(
        self, column: int, slots: npt.NDArray[np.int64], alloc: IntColumn, exclusive: IntColumn
    ) -> IntColumn:
        """int64[k]: promised amounts of a resource on some slots with these exclusive amounts.

        Args:
            column: the resource.
            slots: int64[k].
            alloc: int64[k]: the promised amounts of the slots at present.
            exclusive: int64[k]: the exclusive amounts, instead of those of the pods.
        """
        real, ratio = self.real_on(column, slots, alloc), self.ratio_on(column, slots)
        more = np.trunc((real - exclusive) * ratio).astype(np.int64) + exclusive  # as ``amplified``
        return np.where(ratio > 1.0, np.maximum(real, more), real)

    def _changed(
        self, slot: int, amounts: Iterable[tuple[int, int]], by: Callable[[int, float], int]
    ) -> dict[int, int]:
        ratios = self.ratios.get(slot, {})
        found = {c: by(amount, ratios[c].ratio) for c, amount in amounts if c in ratios}
        return {column: amount for column, amount in found.items() if amount}

    def _write_real(self, slot: int) -> None:
        """Write the real amounts of a slot to the columns."""
        real = self._real.get(slot, {})
        for column in self._real_columns.keys() | real.keys():
            self._grown(column, slot + 1)[slot] = real.get(column, NOT_SET)

    def _grown(self, column: int, size: int) -> IntColumn:
        """Real amounts of a resource for at least ``size`` slots."""
        row = self._real_columns.get(column)
        if row is None or len(row) < size:
            before = np.zeros(0, np.int64) if row is None else row
            more = np.full(max(size, 2 * len(before)) - len(before), NOT_SET, np.int64)
            row = self._real_columns[column] = np.concatenate([before, more])
        return row

    def _held(self, slot: int, column: int) -> int:
        return self._exclusive.get(slot, {}).get(column, 0)

    def _promised(self, slot: int, column: int, real: int) -> int:
        each = self.ratios.get(slot, {}).get(column)
        return real if each is None else promised(real, self._held(slot, column), each.ratio)


def _lost(amount: int, ratio: float) -> int:
    """Maximum reduction of the promise after an amount becomes exclusive."""
    surplus, doubt = _surplus(ratio)
    return ceil(amount * surplus) + doubt


def _regained(amount: int, ratio: float) -> int:
    """Minimum increase of the promise after an exclusive amount becomes free."""
    surplus, doubt = _surplus(ratio)
    return max(0, floor(amount * surplus) - doubt)


@lru_cache(maxsize=4096)
def _surplus(ratio: float) -> tuple[Fraction, int]:
    """Return the part of a ratio above 1, and the error bound of truncated products with the ratio.

    A product is rounded before it is truncated. The truncation is exact for binary fractions, and
    for decimal fractions whose stored ratio is not smaller: 1.1 is stored as slightly more. It is
    also exact if the stored ratio is only so little smaller that a whole product is rounded to
    itself, for example 1.2. For other ratios, for example 1.15, a product may be truncated one unit
    too low.
    """
    stored = Fraction(max(ratio, 1.0))
    if stored.denominator <= BINARY:
        return stored - 1, 0
    near = stored.limit_denominator(DECIMAL)
    if float(near) != ratio:
        return stored - 1, 1
    return near - 1, int((near - stored) * 2 * ROUNDING >= near)
