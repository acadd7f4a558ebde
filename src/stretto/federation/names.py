"""Labels, annotations, finalizers and controllers of KubeAdmiral's wire contract."""

from typing import Final

PREFIX: Final = "kubeadmiral.io/"
INTERNAL: Final = "internal.kubeadmiral.io/"
OWN_PREFIX: Final = "stretto.dev/"
SYSTEM_NAMESPACE: Final = "kube-admiral-system"
"""Namespace of the federation on the host and in every member."""

# ---------------------------------------------------------------- controllers

SCHEDULER: Final = PREFIX + "global-scheduler"
OVERRIDES: Final = PREFIX + "overridepolicy-controller"
NAMESPACES: Final = PREFIX + "nsautoprop-controller"
FOLLOWERS: Final = PREFIX + "follower-controller"
AUTOSCALERS: Final = PREFIX + "federatedhpa-controller"
IMPORTS: Final = PREFIX + "serviceimport-controller"
SYNC_FINALIZER: Final = PREFIX + "sync-controller"
FEDERATE_FINALIZER: Final = PREFIX + "federate-controller"
CLUSTER_FINALIZER: Final = PREFIX + "federated-cluster-controller"

# ---------------------------------------------------------------- labels

POLICY: Final = PREFIX + "propagation-policy-name"
CLUSTER_POLICY: Final = PREFIX + "cluster-propagation-policy-name"
OVERRIDE_POLICY: Final = PREFIX + "override-policy-name"
CLUSTER_OVERRIDE_POLICY: Final = PREFIX + "cluster-override-policy-name"
HPA_MODE: Final = PREFIX + "hpa-mode"
CENTRALIZED_HPA: Final = PREFIX + "centralized-hpa-enabled"
MANAGED: Final = PREFIX + "managed"
SOURCE_CLUSTER: Final = PREFIX + "source-cluster"

POLICY_LABELS: Final = frozenset({POLICY, CLUSTER_POLICY, OVERRIDE_POLICY, CLUSTER_OVERRIDE_POLICY})
"""Labels of a source that name its policies; they are copied to the federated object only."""

# ---------------------------------------------------------------- names of Stretto

SERVICE: Final = OWN_PREFIX + "service"
"""Label of a source: its row in the matrix of CPU generations."""
CPU_MODEL: Final = OWN_PREFIX + "cpu-model"
"""Label of a node: its column in the matrix of CPU generations."""
ROLLOUT: Final = OWN_PREFIX + "rollout"
"""Annotation of a source: stages, gates and limits of its rollouts."""
ROLLOUT_STATUS: Final = OWN_PREFIX + "rollout-status"
"""Annotation of a federated object: the progress of its rollout."""
FAILOVER: Final = OWN_PREFIX + "failover"
"""Annotation of a federated object: the lost clusters that it has left."""
MEMBER_ROLLOUT: Final = OWN_PREFIX + "member-rollout"
"""Annotation of a member's Deployment: the specification that the rollout has written."""
SHARD_REPORT: Final = OWN_PREFIX + "shard-report"
"""Annotation of a Lease: the report of one shard of the federation's processes."""
WAITING: Final = OWN_PREFIX + "waiting-replicas"
"""Annotation with the replicas that no cluster has capacity for now."""

# ---------------------------------------------------------------- annotations of the source

SCHEDULING_MODE: Final = PREFIX + "scheduling-mode"
STICKY: Final = PREFIX + "sticky-cluster"
TOLERATIONS: Final = PREFIX + "tolerations"
PLACEMENTS: Final = PREFIX + "placements"
CLUSTER_SELECTOR: Final = PREFIX + "clusterSelector"
AFFINITY: Final = PREFIX + "affinity"
MAX_CLUSTERS: Final = PREFIX + "maxClusters"
MIGRATION: Final = PREFIX + "migration-configuration"
NO_SCHEDULING: Final = PREFIX + "no-scheduling"
NO_FEDERATION: Final = PREFIX + "no-federated-resource"
NO_PROPAGATION: Final = PREFIX + "no-auto-propagation"
RETAIN_REPLICAS: Final = PREFIX + "retain-replicas"
FOLLOWER_LIST: Final = PREFIX + "followers"
NO_FOLLOWING: Final = PREFIX + "disable-following"
CONFLICT: Final = PREFIX + "conflict-resolution"
ADOPT_FROM: Final = PREFIX + "clusters-to-adopt"
ORPHAN: Final = PREFIX + "orphan"
DRY_RUN: Final = PREFIX + "dry-run"
CASCADE: Final = PREFIX + "cascading-delete"
"""Annotation of a FederatedCluster, and the finalizer of the step that it enables."""
FEDERATED_ANNOTATIONS: Final = frozenset(
    {
        SCHEDULING_MODE, STICKY, TOLERATIONS, PLACEMENTS, CLUSTER_SELECTOR, AFFINITY, MAX_CLUSTERS,
        MIGRATION, NO_SCHEDULING, NO_PROPAGATION, RETAIN_REPLICAS, FOLLOWER_LIST, NO_FOLLOWING,
        CONFLICT, ADOPT_FROM, ORPHAN, DRY_RUN, ROLLOUT,
    }
)  # fmt: skip
"""Annotations of a source that configure the federation; the federated object gets a copy."""

# ---------------------------------------------------------------- annotations of controllers

PENDING: Final = PREFIX + "pending-controllers"
TRIGGERS: Final = PREFIX + "scheduling-triggers"
DEFERRED: Final = PREFIX + "scheduling-deferred-reasons"
SCHEDULING: Final = PREFIX + "scheduling"
AUTO_MIGRATION: Final = PREFIX + "auto-migration-info"
APPLIED_MIGRATION: Final = PREFIX + "applied-migration-configuration"
SOURCE_GENERATION: Final = PREFIX + "source-generation"
ADOPTED: Final = PREFIX + "adopted"
PROPAGATED_ANNOTATIONS: Final = PREFIX + "propagated-annotation-keys"
PROPAGATED_LABELS: Final = PREFIX + "propagated-label-keys"
CLUSTER_UID: Final = PREFIX + "federated-cluster-uid"
HPA_REASON: Final = PREFIX + "fed-hpa-not-work-reason"
DERIVED_SERVICE: Final = PREFIX + "derived-service"

ENABLE_FOLLOWING: Final = INTERNAL + "enable-follower-scheduling"
UNSCHEDULABLE_FOR: Final = INTERNAL + "pod-unschedulable-threshold"
NAMESPACE_CONFLICT: Final = INTERNAL + "conflict-resolution"
NAMESPACE_ADOPT: Final = INTERNAL + "clusters-to-adopt"
NAMESPACE_ORPHAN: Final = INTERNAL + "orphan"

OBSERVED_ANNOTATIONS: Final = "federate.controller." + PREFIX + "observed-annotations"
OBSERVED_LABELS: Final = "federate.controller." + PREFIX + "observed-labels"
TEMPLATE_PATCH: Final = "federate.controller." + PREFIX + "template-generator-merge-patch"

SCALE_TARGET_PATH: Final = PREFIX + "scale-target-ref-path"
"""Annotation of a FederatedTypeConfig: path of the workload that an autoscaler scales."""

FEEDBACK_ANNOTATIONS: Final = frozenset({SCHEDULING, APPLIED_MIGRATION, HPA_REASON, WAITING})
"""Annotations that controllers write on the source; no other object gets a copy."""
