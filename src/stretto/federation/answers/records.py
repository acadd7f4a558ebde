"""Records of the answers."""

import msgspec


class ClusterFacts(msgspec.Struct, frozen=True):
    """A member cluster."""

    #: Name.
    name: str
    #: ``ready``, ``not ready``, ``joining`` or ``leaving``.
    state: str
    #: Nodes that take pods.
    nodes: int
    #: Allocatable CPU in thousandths.
    cpu_milli: int
    #: Share of the allocatable CPU that pods request, from 0 to 1.
    filled: float
    #: Objects with replicas in it.
    workloads: int
    #: Their replicas.
    replicas: int
    #: CPU in thousandths that decisions have promised and pods do not use yet.
    promised_milli: int
    #: Taints, as ``key=value:effect``.
    taints: tuple[str, ...] = ()


class ClusterVerdict(msgspec.Struct, frozen=True):
    """What one cluster means for one object."""

    #: Cluster.
    cluster: str
    #: Replicas that it gets; ``None`` for all, or none if it is not chosen.
    replicas: int | None
    #: True if the object goes there.
    chosen: bool
    #: Points of the scores; ``None`` if a filter rejects it.
    score: int | None
    #: Why, in a sentence.
    why: str
    #: What would bring the object, or more of it, there; empty if nothing is missing.
    cure: str = ""


class PlacedObject(msgspec.Struct, frozen=True):
    """Where an object goes."""

    #: ``namespace/name``.
    name: str
    #: Kind.
    kind: str
    #: Replicas by cluster; ``None`` for all of them.
    placement: dict[str, int | None]
    #: Replicas that no cluster holds now, by the cluster where they wait.
    waiting: dict[str, int]
    #: Replicas that no cluster may run.
    unplaced: int
    #: Why it goes nowhere, why a queue or a gang holds replicas back, or what of its policies has
    #: no effect; else empty.
    problem: str = ""
    #: Clusters of the placement that are not ready: what is placed there stays, and whether it runs
    #: is not known.
    unknown: tuple[str, ...] = ()
    #: True if it stays on the host on purpose: an autoscaler that scales the source.
    on_host: bool = False

    @property
    def held(self) -> int:
        """Replicas that do not run: they wait in their cluster, or have none."""
        return self.unplaced + sum(self.waiting.values())

    @property
    def fits(self) -> bool:
        """True if all replicas have a cluster that holds them."""
        return self.on_host or (bool(self.placement) and not self.waiting and not self.unplaced)


class RolloutRow(msgspec.Struct, frozen=True):
    """A rollout in one cluster."""

    #: Cluster.
    cluster: str
    #: Wanted replicas.
    wanted: int
    #: Pods of the new revision.
    updated: int
    #: Available ones of them.
    available: int
    #: Pods of other revisions.
    old: int
    #: What it waits for, in a sentence.
    waits_for: str


class RolloutFacts(msgspec.Struct, frozen=True):
    """A rollout over all clusters."""

    #: ``namespace/name``.
    name: str
    #: Verdict of the planner.
    verdict: str
    #: The new revision.
    revision: str
    #: Pods above the replicas that may still be created.
    surge_left: int
    #: Available pods that may still be stopped.
    unavailable_left: int
    #: Every cluster.
    clusters: tuple[RolloutRow, ...]


class MigrationRow(msgspec.Struct, frozen=True):
    """What a migration changes for one object."""

    #: ``namespace/name``.
    name: str
    #: Replicas by cluster before.
    before: dict[str, int | None]
    #: Replicas by cluster afterwards.
    after: dict[str, int | None]
    #: Replicas that start elsewhere.
    moves: int
    #: Replicas that no other cluster holds.
    waiting: int
