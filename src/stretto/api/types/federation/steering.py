"""Values of the annotations by which one object steers its federation, as JSON on the wire."""

import msgspec

from stretto.api.wire.meta import NodeSelectorTerm, Wire


class PreferredClusterTerm(Wire, frozen=True):
    """Points for the clusters that match a term."""

    #: Points.
    weight: int
    #: The term.
    preference: NodeSelectorTerm = NodeSelectorTerm()


class ClusterSelectorTerms(Wire, frozen=True):
    """Terms of which one must match."""

    #: The terms.
    cluster_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class ClusterAffinityRules(Wire, frozen=True):
    """Required and preferred terms on clusters."""

    #: Required terms; absent for none.
    required: ClusterSelectorTerms | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    #: Preferred terms.
    preferred: tuple[PreferredClusterTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class AffinityAnnotation(Wire, frozen=True):
    """The annotation ``kubeadmiral.io/affinity``."""

    #: The rules; absent for none.
    cluster_affinity: ClusterAffinityRules | None = None


class ReplicasMigration(Wire, frozen=True):
    """A bound on the replicas in one cluster."""

    #: The cluster.
    cluster: str
    #: Most replicas; absent for no bound.
    limited_capacity: int | None = None


class WorkloadMigration(Wire, frozen=True):
    """A cluster that a workload leaves for a time."""

    #: The cluster.
    cluster: str
    #: RFC 3339 time at which the cluster may be used again.
    valid_until: str = ""


class MigrationConfiguration(Wire, frozen=True):
    """The annotation ``kubeadmiral.io/migration-configuration``."""

    #: Bounds on replicas.
    replicas_migrations: tuple[ReplicasMigration, ...] = ()
    #: Clusters to leave.
    workload_migrations: tuple[WorkloadMigration, ...] = ()


class AutoMigrationInfo(Wire, frozen=True):
    """The annotation ``kubeadmiral.io/auto-migration-info``."""

    #: Replicas that a cluster is known to hold.
    estimated_capacity: dict[str, int] | None = None
    #: Replicas that run now.
    scheduled_replicas: dict[str, int] | None = None
