"""Records that queries return."""

import msgspec


class ClusterFacts(msgspec.Struct, frozen=True):
    """A member cluster."""

    #: Name.
    name: str
    #: ``ready``, ``not ready``, ``joining`` or ``leaving``.
    state: str
    #: Number of nodes that accept pods.
    nodes: int
    #: Allocatable CPU in thousandths.
    cpu_milli: int
    #: Requested share of the allocatable CPU, from 0 to 1.
    filled: float
    #: Number of objects with replicas in the cluster.
    workloads: int
    #: Sum of their replicas.
    replicas: int
    #: CPU in thousandths of a core that is promised to pods which do not exist yet.
    promised_milli: int
    #: Taints, as ``key=value:effect``.
    taints: tuple[str, ...] = ()


class ClusterVerdict(msgspec.Struct, frozen=True):
    """Suitability of one cluster for one object."""

    #: Cluster.
    cluster: str
    #: Replicas of the cluster; ``None`` if it runs all replicas, or if it is not chosen.
    replicas: int | None
    #: True if the object is placed in the cluster.
    chosen: bool
    #: Sum of the scores; ``None`` if a filter rejects the cluster.
    score: int | None
    #: Reason, as a sentence.
    why: str
    #: Change that would place the object, or more of it, here; empty if nothing is missing.
    cure: str = ""


class PlacedObject(msgspec.Struct, frozen=True):
    """Placement of an object."""

    #: ``namespace/name``.
    name: str
    #: Kind.
    kind: str
    #: Replicas by cluster; ``None`` for a cluster that runs all replicas.
    placement: dict[str, int | None]
    #: Replicas without capacity, by the cluster where they wait.
    waiting: dict[str, int]
    #: Replicas that may run in no cluster.
    unplaced: int
    #: Reason why the object has no placement or why a queue or gang holds back replicas, or a
    #: setting of its policies without an effect; else empty.
    problem: str = ""
    #: Clusters of the placement that are not ready. The object keeps its placement there, and the
    #: state of its replicas is unknown.
    unknown: tuple[str, ...] = ()
    #: True for an object that runs on the host only: an autoscaler that scales the source.
    on_host: bool = False

    @property
    def held(self) -> int:
        """Replicas that do not run, with or without a cluster."""
        return self.unplaced + sum(self.waiting.values())

    @property
    def fits(self) -> bool:
        """True if all replicas have a cluster with capacity for them."""
        return self.on_host or (bool(self.placement) and not self.waiting and not self.unplaced)


class RolloutRow(msgspec.Struct, frozen=True):
    """State of a rollout in one cluster."""

    #: Cluster.
    cluster: str
    #: Desired replicas.
    wanted: int
    #: Pods of the new revision.
    updated: int
    #: Available pods of the new revision.
    available: int
    #: Pods of other revisions.
    old: int
    #: Reason for waiting, as a phrase that completes "waits for".
    waits_for: str


class RolloutFacts(msgspec.Struct, frozen=True):
    """State of a rollout over all clusters."""

    #: ``namespace/name``.
    name: str
    #: Verdict of the planner.
    verdict: str
    #: The new revision.
    revision: str
    #: Number of pods above the replicas that may still be created.
    surge_left: int
    #: Number of available pods that may still be deleted.
    unavailable_left: int
    #: Every cluster.
    clusters: tuple[RolloutRow, ...]


class MigrationRow(msgspec.Struct, frozen=True):
    """Effect of a migration on one object."""

    #: ``namespace/name``.
    name: str
    #: Replicas by cluster before.
    before: dict[str, int | None]
    #: Replicas by cluster afterwards.
    after: dict[str, int | None]
    #: Replicas that start elsewhere.
    moves: int
    #: Replicas that no other cluster has capacity for.
    waiting: int
