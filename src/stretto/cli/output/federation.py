"""JSON documents of the verbs of a federation, for their published schemas."""

import msgspec

from stretto.explain.why.answers import Explanation
from stretto.federation.answers.records import (
    ClusterFacts,
    ClusterVerdict,
    MigrationRow,
    PlacedObject,
)
from stretto.sim.fleet.comparison.outcomes import PolicyOutcome
from stretto.sim.fleet.history import FleetStep


class ClusterListDocument(msgspec.Struct, frozen=True):
    """The member clusters: ``stretto federation clusters``."""

    #: All of them, by name.
    clusters: tuple[ClusterFacts, ...]


class FleetExplainDocument(msgspec.Struct, frozen=True):
    """Why an object or a pod is in a cluster, or not: ``stretto federation explain``."""

    #: The object or the pod, as given.
    name: str
    #: The verdicts about the object, or about that of the pod.
    clusters: tuple[ClusterVerdict, ...]
    #: The explanation of the pod by its own cluster; absent for an object.
    pod: Explanation | None = None
    #: The cluster of the pod; empty for an object.
    pod_cluster: str = ""
    #: The object that the pod belongs to; empty for an object.
    object: str = ""


class FleetPlanDocument(msgspec.Struct, frozen=True):
    """Where objects would go: ``stretto federation plan``."""

    #: The objects.
    objects: tuple[PlacedObject, ...]


class MigrationDocument(msgspec.Struct, frozen=True):
    """What a migration changes: ``stretto federation migrate``."""

    #: The cluster that the objects leave.
    cluster: str
    #: The objects within the budget.
    objects: tuple[MigrationRow, ...]
    #: Objects beyond the budget.
    beyond_budget: int


class FleetStoryDocument(msgspec.Struct, frozen=True):
    """What happened to objects: ``stretto federation story``."""

    #: The object, as given; empty for all.
    name: str
    #: The steps, in order.
    steps: tuple[FleetStep, ...]


class FleetRunDocument(msgspec.Struct, frozen=True):
    """The end of a fleet file: ``stretto run``."""

    #: Name of the scenario.
    name: str
    #: All clusters.
    clusters: tuple[ClusterFacts, ...]
    #: All objects.
    objects: tuple[PlacedObject, ...]


class FleetSimulateDocument(msgspec.Struct, frozen=True):
    """Policies over a fleet: ``stretto federation simulate``."""

    #: Name of the scenario.
    name: str
    #: The fleet under each policy.
    policies: tuple[PolicyOutcome, ...]
