"""Ranges of costs and sizes: unsigned numbers of 64 bits, whose operations do not overflow."""

from math import ceil
from typing import Final, NamedTuple

MOST: Final = (1 << 64) - 1
"""The greatest number."""


class Range(NamedTuple):
    """A range of costs or of sizes."""

    #: Least number.
    low: int
    #: Greatest number.
    high: int

    def plus(self, other: "Range") -> "Range":
        """Return the sum of two ranges."""
        return Range(min(self.low + other.low, MOST), min(self.high + other.high, MOST))

    def times(self, other: "Range") -> "Range":
        """Return the product of two ranges."""
        return Range(min(self.low * other.low, MOST), min(self.high * other.high, MOST))

    def scaled(self, factor: float) -> "Range":
        """Return the product with a factor, rounded up."""
        return Range(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: "Range") -> "Range":
        """Return the range that contains two ranges."""
        return Range(min(self.low, other.low), max(self.high, other.high))


def fixed(number: int) -> Range:
    """Return the range of one number."""
    return Range(number, number)


UNKNOWN: Final = Range(0, MOST)
"""The size of a value without a limit."""
NONE: Final = Range(0, 0)
ONE: Final = Range(1, 1)


def _scaled(number: int, factor: float) -> int:
    if number > 0 and factor > 0 and float(number) > MOST / factor:
        return MOST
    return min(ceil(float(number) * factor), MOST)
