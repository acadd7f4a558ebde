"""Sums of amounts by key: by resource name, by column, by node."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Amount = TypeVar("Amount", int, float)


def add_amounts(
    sums: dict[Key, Amount], amounts: Iterable[tuple[Key, Amount]], times: int = 1
) -> None:
    """Add amounts to sums, each multiplied by ``times``; a negative factor subtracts them."""
    for key, amount in amounts:
        sums[key] = sums.get(key, 0) + times * amount


def total_of(parts: Iterable[Mapping[Key, Amount]]) -> dict[Key, Amount]:
    """The sum of amounts by key."""
    sums: dict[Key, Amount] = {}
    for part in parts:
        add_amounts(sums, part.items())
    return sums
