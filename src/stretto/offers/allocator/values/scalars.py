"""Exact scalar amounts: integers that count thousandths.

Mesos compares, adds and subtracts scalars with three decimals. Every amount is therefore an integer
here, and no sum depends on its order.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from stretto.base.errors import InputError

MILLI: Final = 1000
"""Thousandths in one unit."""
LARGEST: Final = 10**15
"""Maximum scalar in thousandths: 10^12 units, Mesos' limit for quota."""

Quantities: TypeAlias = Mapping[str, int]
"""Thousandths by the name of the resource; an absent name is zero, or unlimited in a limit."""


def to_milli(value: float, field: str = "scalar") -> int:
    """Thousandths of an amount; halves are rounded away from zero.

    Args:
        value: the amount in units, such as CPUs or MB.
        field: name of the field, for errors.

    Raises:
        InputError: the amount is negative, not finite or above 10^12.
    """
    if not math.isfinite(value) or value < 0 or value * MILLI > LARGEST:
        raise InputError(field, value, "an amount from 0 to 10^12", "correct the amount")
    return math.floor(value * MILLI + 0.5)


def from_milli(milli: int) -> float:
    """The amount in units, with the two roundings of Mesos: whole part plus thousandths."""
    whole, rest = divmod(milli, MILLI)
    return whole + rest / 1000.0 if rest else float(whole)


def quantities(amounts: Mapping[str, float], field: str = "quantities") -> dict[str, int]:
    """Thousandths by name; zeros are kept, because a limit of zero is a limit.

    Raises:
        InputError: an amount is negative, not finite or too large.
    """
    return {name: to_milli(value, f"{field}.{name}") for name, value in amounts.items()}


def add_to(target: dict[str, int], amounts: Iterable[tuple[str, int]], sign: int = 1) -> None:
    """Add amounts to a mutable mapping; ``sign`` -1 subtracts."""
    for name, amount in amounts:
        try:
            target[name] += amount * sign
        except KeyError:
            target[name] = amount * sign
