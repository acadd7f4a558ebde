"""Reduction of resources to target amounts."""

from collections import Counter
from collections.abc import Mapping

from stretto.base.rng import Rng
from stretto.offers.allocator.values.resources import (
    NOTHING,
    Entry,
    Resources,
    ResourceValue,
    is_scalar,
)


def free_scalars(resources: Resources) -> tuple[Resources, Resources]:
    """The unreserved, non-revocable scalars that quota counts, and everything else."""
    return resources.split(lambda entry: entry[0].is_free and is_scalar(entry))


def shrink_to(resources: Resources, target: Mapping[str, int], rng: Rng) -> Resources:
    """At most the target of each resource; a resource without a target is dropped."""
    return _shrink(resources, {name: target.get(name, 0) for name, _ in resources.quantities}, rng)


def shrink_within(resources: Resources, limits: Mapping[str, int], rng: Rng) -> Resources:
    """At most the limit of each resource; a resource without a limit is kept."""
    return _shrink(resources, limits, rng) if limits else resources


def _shrink(resources: Resources, most: Mapping[str, int], rng: Rng) -> Resources:
    """Divisible resources are cut, indivisible items above the remaining amount are dropped."""
    if all(amount <= most.get(name, amount) for name, amount in resources.quantities):
        return resources
    left, kept = dict(most), dict[object, ResourceValue]()
    for kind, value in _shuffled(list(resources), rng):
        if kind.name not in left or not isinstance(value, int):
            kept[kind] = value
            continue
        size = kind.whole or 1
        taken = min(value, max(0, left[kind.name]) // size)
        if taken:
            kept[kind] = taken
            left[kind.name] -= taken * size
    return Resources(kept) if kept else NOTHING  # type: ignore[arg-type]


def _shuffled(entries: list[Entry], rng: Rng) -> list[Entry]:
    """Entries in random order if several compete for one target."""
    if max(Counter(kind.name for kind, _ in entries).values()) > 1:
        rng.shuffle(entries)
    return entries
