"""Requests and limits of a pod, summed over its containers as in Kubernetes.

Source: ``k8s.io/component-helpers/resource`` (``PodRequests``, ``PodLimits``).
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from stretto.base.amounts import total_of

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: milli-CPU, bytes, or units."""


class ContainerDemand(msgspec.Struct, frozen=True):
    """Requests and limits of one container."""

    #: Requested amounts.
    requests: dict[str, int] = {}
    #: Upper bounds; a missing resource is unbounded.
    limits: dict[str, int] = {}


def largest(parts: Iterable[Amounts]) -> dict[str, int]:
    """Maximum by resource."""
    found: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = max(found.get(name, amount), amount)
    return found


def pod_amounts(containers: Iterable[Amounts], init: Iterable[Amounts]) -> dict[str, int]:
    """Amounts of a pod: the sum of its containers, or a larger init container."""
    return largest([total_of(containers), *init])


def with_overhead(requests: Amounts, overhead: Amounts) -> dict[str, int]:
    """Requests of a pod with the overhead of its runtime."""
    return total_of([requests, overhead])


def limits_with_overhead(limits: Amounts, overhead: Amounts) -> dict[str, int]:
    """Limits of a pod with the overhead of its runtime.

    A resource without limit, or with limit 0, stays unlimited.
    """
    return {
        name: amount + overhead.get(name, 0) if amount else 0 for name, amount in limits.items()
    }
