"""Adapter from recorded inputs of KubeAdmiral's dynamic weights to the planner."""

from typing import Any

import msgspec

from stretto.api.wire import quantity
from stretto.base.errors import InputError
from stretto.federation.planner.kubeadmiral import weights
from stretto.federation.planner.kubeadmiral.weights import ClusterSupply

Fields = dict[str, Any]
"""The members of an input or of a result."""


class SupplyInput(msgspec.Struct, frozen=True):
    """A cluster in the form of the recordings."""

    #: The cluster.
    name: str
    #: Quantities that pods can request.
    allocatable: dict[str, str] = {}
    #: Quantities that are free.
    available: dict[str, str] = {}

    def supply(self) -> ClusterSupply:
        """The cluster as input of the planner: whole units, rounded up."""
        return ClusterSupply(self.name, _units(self.allocatable), _units(self.available))


class WeightsInput(msgspec.Struct, frozen=True):
    """The input of the family ``ka_dynamic_weights``."""

    #: The clusters.
    clusters: tuple[SupplyInput, ...]
    #: The resource.
    resource: str
    #: Maximum ratio of a weight to the share of the allocatable amount.
    supply_limit_ratio: float


def dynamic_weights(given: Fields) -> Fields:
    """``ka_dynamic_weights``: limits, weights and the rounding difference."""
    fields = msgspec.convert(given, WeightsInput)
    clusters = [each.supply() for each in fields.clusters]
    try:
        limit = weights.limits(clusters, fields.resource, fields.supply_limit_ratio)
    except InputError:
        return {"rest": 0, "error": f"limit: no {fields.resource} resource"}
    try:
        found = weights.weigh(clusters, fields.resource, limit)
    except InputError:
        error = f"weight: no {fields.resource} resource"
        return {"limits": limit, "rest": 0, "error": error}
    result: Fields = {"limits": limit, "rest": found.rest}
    if found.degenerate:
        return result | {"degenerate": True}
    if not found.equal:
        result["base"] = found.base
    if found.rest_to:
        result["rest_to"] = sorted(found.rest_to)
    if len(found.rest_to) < 2:
        result["weights"] = found.weights()
    return result


def _units(amounts: dict[str, str]) -> dict[str, int]:
    return {name: quantity.value(text, name) for name, text in amounts.items()}
