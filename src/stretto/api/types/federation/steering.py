"""Values of annotations by which an object controls its federation, as JSON on the wire."""

import msgspec

from stretto.api.wire.meta import NodeSelectorTerm, Wire


class PreferredClusterTerm(Wire, frozen=True):
    """Score for clusters that match a term."""

    #: Score.
    weight: int
    #: The term.
    preference: NodeSelectorTerm = NodeSelectorTerm()


class ClusterSelectorTerms(Wire, frozen=True):
    """Terms, of which one must match."""

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
    """Limit on the replicas in one cluster."""

    #: The cluster.
    cluster: str
    #: Maximum number of replicas; absent for no limit.
    limited_capacity: int | None = None


class WorkloadMigration(Wire, frozen=True):
    """A cluster that a workload must not use for a time."""

    #: The cluster.
    cluster: str
    #: RFC 3339 time from which the cluster may be used again.
    valid_until: str = ""


class MigrationConfiguration(Wire, frozen=True):
    """The annotation ``kubeadmiral.io/migration-configuration``."""

    #: Limits on replicas.
    replicas_migrations: tuple[ReplicasMigration, ...] = ()
    #: Clusters not to use.
    workload_migrations: tuple[WorkloadMigration, ...] = ()


class AutoMigrationInfo(Wire, frozen=True):
    """The annotation ``kubeadmiral.io/auto-migration-info``."""

    #: Number of replicas that fit in each cluster, as far as known.
    estimated_capacity: dict[str, int] | None = None
    #: Number of running replicas in each cluster.
    scheduled_replicas: dict[str, int] | None = None
