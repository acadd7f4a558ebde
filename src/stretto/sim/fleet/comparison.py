"""One fleet under several policies, with what-if events: fill, pending pods, moves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import amounts
from stretto.base.errors import UnknownNameError
from stretto.federation.objects.demand import request_of
from stretto.federation.settings import (
    CapacitySource,
    FailoverRule,
    FederationSettings,
    PlannerKind,
)
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.building import add_cluster, built, settings_of
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.moods import MemberMood
from stretto.stores.store import Patch

SAMPLE: Final = 2.0
"""Seconds between two looks at a fleet."""


class FleetPolicy(Enum):
    """How replicas are divided."""

    #: KubeAdmiral's planners with the weights of the policies, equal ones by default.
    STATIC = "static"
    #: KubeAdmiral's planners with weights from the free CPU.
    DYNAMIC = "dynamic"
    #: The default planners, with the capacity of every node.
    NODES = "nodes"
    #: The default planners.
    STRETTO = "stretto"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What happens to the fleet."""

    #: Clusters that no longer answer.
    lost: tuple[str, ...] = ()
    #: Clusters that repel all pods.
    drained: tuple[str, ...] = ()
    #: Clusters that join.
    added: tuple[ClusterShape, ...] = ()
    #: Seconds after the start.
    at: float = 30.0


class PolicyOutcome(msgspec.Struct, frozen=True):
    """A fleet under one policy."""

    #: The policy.
    policy: str
    #: Pods that run at the end, in clusters that answer.
    running: int
    #: Pods that wait for a node at the end.
    pending: int
    #: Mean number of pods that wait for a node.
    mean_pending: float
    #: Pods that were deleted, by a move or a scale-down.
    moves: int
    #: Share of the CPU that pods request at the end, by cluster that answers.
    filled: dict[str, float]


def compare(
    fleet: FleetDescription, policies: Sequence[FleetPolicy], what_if: WhatIf
) -> list[PolicyOutcome]:
    """Run a fleet under each policy.

    Raises:
        UnknownNameError: an event names a cluster that the fleet does not have.
    """
    known = [each.name for each in fleet.clusters]
    for name in (*what_if.lost, *what_if.drained):
        if name not in known:
            raise UnknownNameError("cluster", name, known)
    return [_outcome(fleet, each, what_if) for each in policies]


def _outcome(described: FleetDescription, policy: FleetPolicy, what_if: WhatIf) -> PolicyOutcome:
    objects = tuple(_with_weights(each, policy) for each in described.objects)
    described = msgspec.structs.replace(described, objects=objects)
    fleet = built(described, _settings(settings_of(described), policy))
    start, happened = fleet.clock.monotonic(), False
    seen: dict[str, set[str]] = {}
    waiting, moves = [], 0
    while (now := fleet.clock.monotonic()) < start + described.seconds:
        if not happened and now >= start + what_if.at:
            _happen(fleet, what_if)
            happened = True
        fleet.run_until(now + SAMPLE)
        moves += _gone(fleet, seen)
        waiting.append(sum(not each.record.node for each in _pods(fleet, what_if.lost)))
    pods = _pods(fleet, what_if.lost)
    return PolicyOutcome(
        policy.value,
        sum(bool(each.record.node) for each in pods),
        sum(not each.record.node for each in pods),
        round(sum(waiting) / max(1, len(waiting)), 2),
        moves,
        {name: _fill(fleet, name) for name in fleet.members if name not in what_if.lost},
    )


def _settings(base: FederationSettings, policy: FleetPolicy) -> FederationSettings:
    rule = FailoverRule(after=10.0, back_after=10.0)
    base = replace(base, failover=rule)
    if policy in (FleetPolicy.STATIC, FleetPolicy.DYNAMIC):
        return replace(base, planners=PlannerKind.KUBEADMIRAL)
    source = CapacitySource.NODES if policy is FleetPolicy.NODES else CapacitySource.SUMS
    return replace(base, capacity=source)


def _with_weights(body: dict[str, Any], policy: FleetPolicy) -> dict[str, Any]:
    """A policy with the weights that a way of division needs."""
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


def _happen(fleet: EmbeddedFleet, what_if: WhatIf) -> None:
    for name in what_if.lost:
        fleet.members[name].served.set_mood(MemberMood.SILENT)
    for name in what_if.drained:
        taints = [{"key": "stretto.dev/drained", "effect": "NoExecute"}]
        change = Patch("", name, {"spec": {"taints": taints}})
        fleet.host.patch(FEDERATED_CLUSTER.kind, [change])
    for shape in what_if.added:
        add_cluster(fleet, shape)


def _pods(fleet: EmbeddedFleet, lost: Iterable[str]) -> list[StoredObject]:
    """Pods of the clusters that answer."""
    stores = [member.store for name, member in fleet.members.items() if name not in lost]
    found = (StoredObject(each) for store in stores for each in store.list(POD).records)
    return [each for each in found if not each.is_terminating]


def _gone(fleet: EmbeddedFleet, seen: dict[str, set[str]]) -> int:
    """Pods that existed at the last look and do not exist now."""
    count = 0
    for name, member in fleet.members.items():
        now = {each.uid for each in member.store.list(POD).records}
        count += len(seen.get(name, set()) - now)
        seen[name] = now
    return count


def _fill(fleet: EmbeddedFleet, name: str) -> float:
    """Share of the CPU of a cluster that its pods request."""
    store = fleet.members[name].store
    total = sum(
        amounts(StoredObject(each).status.get("allocatable") or {}, "allocatable").get("cpu", 0)
        for each in store.list(NODE).records
    )
    used = sum(
        request_of({"kind": "Pod", "spec": StoredObject(each).spec}).get("cpu", 0)
        for each in store.list(POD).records
        if each.node
    )
    return round(used / total, 4) if total else 0.0
