"""Adapter from recorded inputs of KubeAdmiral's replica planners to the planners."""

from typing import Any

import msgspec

from stretto.federation.planner.kubeadmiral import binpack, spread
from stretto.federation.planner.kubeadmiral.demand import ReplicaDemand, ReplicaPreference

Fields = dict[str, Any]
"""The members of an input or of a result."""


class ListedCluster(msgspec.Struct, frozen=True):
    """A cluster in the form of the recordings."""

    #: The cluster.
    name: str = ""
    #: Its weight.
    weight: int = 0
    #: Minimum replicas.
    min: int = 0
    #: Maximum replicas.
    max: int | None = None
    #: True if the policy does not list it, so that the wildcard applies.
    no_preference: bool = False


class ReplicaInput(msgspec.Struct, frozen=True):
    """The input of the families ``ka_spread_plan`` and ``ka_binpack_plan``."""

    #: The clusters.
    clusters: tuple[ListedCluster, ...]
    #: Replicas of the workload.
    replicas: int = 0
    #: Namespace and name.
    key: str = ""
    #: Present replicas.
    current: dict[str, int] = {}
    #: Estimates.
    estimated_capacity: dict[str, int] = {}
    #: Hard limits.
    limited_capacity: dict[str, int] = {}
    #: Running replicas.
    scheduled: dict[str, int] = {}
    #: The preference of clusters without one; without it they are omitted.
    wildcard: ListedCluster | None = None
    #: True if present replicas are kept.
    avoid_disruption: bool = False
    #: True if rejected replicas are kept.
    keep_unschedulable: bool = False
    #: Changes of a sequence.
    steps: tuple[Fields, ...] = ()

    def demand(self) -> ReplicaDemand:
        """The input as demand of the planners."""
        return ReplicaDemand(
            self.replicas,
            self._preferences(),
            self.key,
            self.current,
            self.estimated_capacity,
            self.limited_capacity,
            self.scheduled,
            self.avoid_disruption,
            self.keep_unschedulable,
        )

    def _preferences(self) -> tuple[ReplicaPreference, ...]:
        found = []
        for each in self.clusters:
            said = self.wildcard if each.no_preference else each
            if said is not None:
                general = each.no_preference
                found.append(ReplicaPreference(each.name, said.weight, said.min, said.max, general))
        return tuple(found)


def binpack_plan(given: Fields) -> Fields:
    """``ka_binpack_plan``: one division by priority."""
    found = binpack.plan(msgspec.convert(given, ReplicaInput).demand())
    return {"plan": found.placed, "overflow": found.overflow, "final": found.total()}


def spread_plan(given: Fields) -> Fields:
    """``ka_spread_plan``: one division."""
    found = spread.plan(msgspec.convert(given, ReplicaInput).demand())
    return {"plan": found.placed, "overflow": found.overflow, "final": found.total()}


def spread_sequence(given: Fields) -> Fields:
    """``ka_spread_sequence``: divisions, each from the previous result."""
    first = msgspec.convert(given, ReplicaInput)
    current: dict[str, int] = {}
    steps: list[Fields] = []
    for change in first.steps:
        step = msgspec.convert(given | change | {"current": current}, ReplicaInput)
        final = spread.plan(step.demand()).total()
        moves = [final.get(name, 0) - current.get(name, 0) for name in final | current]
        started, stopped = sum(n for n in moves if n > 0), -sum(n for n in moves if n < 0)
        steps.append({"final": final, "started": started, "stopped": stopped})
        current = final
    return {"steps": steps}
