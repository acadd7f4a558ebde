"""Dynamic weights with KubeAdmiral's arithmetic: free capacity, limited by size, in per mille.

A cluster's weight is its share of the free amount of one resource, at most ``ratio`` times its
share of the allocatable amount. The weights are then rounded to a sum of 1,000; one cluster with
the largest weight gets the rounding difference.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stretto.base.errors import InputError

SUPPLY_RATIO: Final = 1.4
"""Maximum ratio of a cluster's weight to its share of the allocatable amount."""
_WHOLE: Final = 1000
_INT64_MIN: Final = -(2**63)
_DEFAULT_ZERO: Final = ("cpu", "memory", "nvidia.com/gpu")
"""Resources that count as 0 if a cluster does not report them."""


@dataclass(frozen=True, slots=True)
class ClusterSupply:
    """Capacity of one cluster for every resource, in whole units, rounded up."""

    #: The cluster.
    name: str
    #: Amounts that pods can request.
    allocatable: Mapping[str, int] = field(default_factory=dict)
    #: Amounts that are free; may be negative.
    available: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DynamicWeights:
    """Weights of clusters in per mille."""

    #: Rounded weights before the rounding difference.
    base: dict[str, int]
    #: The rounding difference.
    rest: int = 0
    #: Clusters with the largest weight; one of them gets the difference.
    rest_to: tuple[str, ...] = ()
    #: True if no free capacity exists, so that all clusters have the same weight.
    equal: bool = False
    #: True if every weight was rounded to zero, and the quotients are undefined.
    degenerate: bool = False

    def weights(self) -> dict[str, int]:
        """Weights, the difference included; the first cluster of a tie gets it."""
        if not self.rest_to:
            return dict(self.base)
        first = self.rest_to[0]
        return self.base | {first: self.base[first] + self.rest}


def limits(
    clusters: Sequence[ClusterSupply], resource: str, ratio: float = SUPPLY_RATIO
) -> dict[str, int]:
    """The largest weight of each cluster, by its share of the allocatable amount.

    Raises:
        InputError: a cluster does not report the resource, while others do.
    """
    amounts = [_amount(each.allocatable, resource) for each in clusters]
    total = float(sum(each or 0 for each in amounts))
    if not total:
        equal = _rounded(_WHOLE / len(clusters)) if clusters else 0
        return {each.name: equal for each in clusters}
    return {
        each.name: _rounded(_reported(each.name, amount, resource) / total * _WHOLE * ratio)
        for each, amount in zip(clusters, amounts, strict=True)
    }


def weigh(
    clusters: Sequence[ClusterSupply], resource: str, limit: Mapping[str, int]
) -> DynamicWeights:
    """Weights by free capacity, each at most its limit.

    Raises:
        InputError: a cluster does not report the resource, while others do.
    """
    amounts = [_amount(each.available, resource) for each in clusters]
    total = float(sum(max(each or 0, 0) for each in amounts))
    if not total:
        equal = _rounded(_WHOLE / len(clusters)) if clusters else 0
        return DynamicWeights({each.name: equal for each in clusters}, equal=True)
    limited = {
        each.name: min(
            _rounded(max(_reported(each.name, amount, resource), 0) / total * _WHOLE),
            limit[each.name],
        )
        for each, amount in zip(clusters, amounts, strict=True)
    }
    whole = sum(limited.values())
    if not whole:
        return DynamicWeights(dict.fromkeys(limited, _INT64_MIN), degenerate=True)
    base = {name: _rounded(count / whole * _WHOLE) for name, count in limited.items()}
    rest = _WHOLE - sum(base.values())
    if not rest:
        return DynamicWeights(base)
    largest = max(base.values())
    return DynamicWeights(base, rest, tuple(n for n, count in base.items() if count == largest))


def _amount(amounts: Mapping[str, int], resource: str) -> int | None:
    return amounts.get(resource, 0 if resource in _DEFAULT_ZERO else None)


def _reported(name: str, amount: int | None, resource: str) -> float:
    if amount is None:
        raise InputError(f"{name}: {resource}", None, "an amount, as other clusters report one")
    return float(amount)


def _rounded(number: float) -> int:
    """Round half away from zero."""
    whole = math.floor(abs(number))
    rounded = whole + (abs(number) - whole >= 0.5)
    return rounded if number >= 0 else -rounded
