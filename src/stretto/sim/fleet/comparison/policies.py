"""Division policies, as settings of the controllers and weights of the propagation policies."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from stretto.federation.settings import (
    CapacitySource,
    FailoverRule,
    FederationSettings,
    PlannerKind,
)


class FleetPolicy(Enum):
    """Policies for the division of replicas."""

    #: KubeAdmiral's planners with the weights of the policies, equal ones by default.
    STATIC = "static"
    #: KubeAdmiral's planners with weights from the free CPU.
    DYNAMIC = "dynamic"
    #: The default planners, with the capacity of every node.
    NODES = "nodes"
    #: The default planners.
    STRETTO = "stretto"


def settings_under(base: FederationSettings, policy: FleetPolicy) -> FederationSettings:
    """The settings of the controllers under a policy; lost clusters are failed over."""
    base = replace(base, failover=FailoverRule(after=10.0, back_after=10.0))
    if policy in (FleetPolicy.STATIC, FleetPolicy.DYNAMIC):
        return replace(base, planners=PlannerKind.KUBEADMIRAL)
    source = CapacitySource.NODES if policy is FleetPolicy.NODES else CapacitySource.SUMS
    return replace(base, capacity=source)


def objects_under(
    objects: Iterable[dict[str, Any]], policy: FleetPolicy
) -> tuple[dict[str, Any], ...]:
    """The objects of the host, with the weights that a policy needs in the propagation policies."""
    return tuple(_with_weights(each, policy) for each in objects)


def _with_weights(body: dict[str, Any], policy: FleetPolicy) -> dict[str, Any]:
    if not str(body.get("kind", "")).endswith("PropagationPolicy"):
        return body
    spec = dict(body.get("spec") or {})
    given = spec.get("placement") or ()
    spec["placement"] = [_weighted(each, policy) for each in given]
    return {**body, "spec": spec}


def _weighted(entry: Mapping[str, Any], policy: FleetPolicy) -> dict[str, Any]:
    preferences = dict(entry.get("preferences") or {})
    if policy is FleetPolicy.STATIC:
        preferences.setdefault("weight", 1)
    elif policy is FleetPolicy.DYNAMIC:
        preferences.pop("weight", None)
    return {**entry, "preferences": preferences}
