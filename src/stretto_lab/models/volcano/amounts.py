"""Amounts of resources in queues: floats by name, compared with a tolerance."""

from collections.abc import Mapping
from typing import Final, TypeAlias

Amounts: TypeAlias = dict[str, float]
"""Amounts by resource: milli-CPU, bytes, pods, and thousandths of all others."""
AnyAmounts: TypeAlias = Mapping[str, float]

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
SLACK: Final = 0.1
"""Tolerance below which amounts are equal, because sums of floats are not exact."""
UNLIMITED_AT_ZERO: Final = frozenset((CPU, MEMORY))
"""Resources for which a capability of 0 means no limit."""


def beyond(amounts: AnyAmounts, taken: AnyAmounts) -> Amounts:
    """Amounts above ``taken``, at least 0."""
    return {name: max(amount - taken.get(name, 0.0), 0.0) for name, amount in amounts.items()}


def at_least(amounts: AnyAmounts, least: AnyAmounts) -> Amounts:
    """Larger amount of each resource."""
    return {
        **amounts,
        **{name: max(amounts.get(name, 0.0), amount) for name, amount in least.items()},
    }


def at_most(amounts: AnyAmounts, most: AnyAmounts) -> Amounts:
    """Smaller amount of each resource; a resource without a bound is unbounded."""
    return {name: min(amount, most.get(name, amount)) for name, amount in amounts.items()}


def within(amounts: AnyAmounts, bound: AnyAmounts) -> bool:
    """Return whether no amount exceeds its bound; a missing bound is 0."""
    return all(amount <= bound.get(name, 0.0) + SLACK for name, amount in amounts.items())


def limits(capability: AnyAmounts) -> Amounts:
    """Resources that a capability limits."""
    return {
        name: amount
        for name, amount in capability.items()
        if amount or name not in UNLIMITED_AT_ZERO
    }
