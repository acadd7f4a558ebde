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


def positive_rest(whole: Mapping[Key, Amount], part: Mapping[Key, Amount]) -> dict[Key, Amount]:
    """Return what is left of each amount without another; amounts of zero or less are omitted."""
    rest = ((key, amount - part.get(key, 0)) for key, amount in whole.items())
    return {key: amount for key, amount in rest if amount > 0}


def covers(whole: Mapping[Key, float], part: Mapping[Key, float]) -> bool:
    """Return whether ``whole`` has at least every amount of ``part``; an absent key is 0."""
    return all(whole.get(key, 0) >= amount for key, amount in part.items())


def total_of(parts: Iterable[Mapping[Key, Amount]]) -> dict[Key, Amount]:
    """The sum of amounts by key."""
    sums: dict[Key, Amount] = {}
    for part in parts:
        add_amounts(sums, part.items())
    return sums
