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

    #: All member clusters, by name.
    clusters: tuple[ClusterFacts, ...]


class FleetExplainDocument(msgspec.Struct, frozen=True):
    """Reasons why an object or a pod is, or is not, in a cluster.

    ``stretto federation explain``.
    """

    #: The object or the pod, as given.
    name: str
    #: The verdicts about the object, or about the object of the pod.
    clusters: tuple[ClusterVerdict, ...]
    #: The explanation of the pod by its own cluster; absent for an object.
    pod: Explanation | None = None
    #: The cluster of the pod; empty for an object.
    pod_cluster: str = ""
    #: The object of the pod; empty if the document is about an object.
    object: str = ""


class FleetPlanDocument(msgspec.Struct, frozen=True):
    """Placement of objects: ``stretto federation plan``."""

    #: The objects.
    objects: tuple[PlacedObject, ...]


class MigrationDocument(msgspec.Struct, frozen=True):
    """Changes of a migration: ``stretto federation migrate``."""

    #: The cluster that the objects leave.
    cluster: str
    #: The objects within the budget.
    objects: tuple[MigrationRow, ...]
    #: Objects beyond the budget.
    beyond_budget: int


class FleetStoryDocument(msgspec.Struct, frozen=True):
    """Story of objects: ``stretto federation story``."""

    #: The object, as given; empty for all.
    name: str
    #: The steps, in order.
    steps: tuple[FleetStep, ...]


class FleetRunDocument(msgspec.Struct, frozen=True):
    """Final state of a fleet file: ``stretto run``."""

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
