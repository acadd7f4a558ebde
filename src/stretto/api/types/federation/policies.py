"""Policies and clusters of ``core.kubeadmiral.io/v1alpha1``, which users write.

The fields follow KubeAdmiral's wire contract, so that its manifests are accepted unchanged. Objects
that controllers write for each other are in ``api.types.federation.objects``.
"""

from enum import StrEnum

import msgspec

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.api.wire.meta import NO_TEXTS, Condition, NodeSelectorTerm, ObjectMeta, Wire
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList

# ---------------------------------------------------------------- clusters


class TypedObject(Wire, frozen=True):
    """An object with its own apiVersion and kind."""

    #: Group and version.
    api_version: str = ""
    #: Kind.
    kind: str = ""
    #: Identity and bookkeeping.
    metadata: ObjectMeta = ObjectMeta()


class SecretReference(Wire, frozen=True):
    """A Secret in the system namespace of the host."""

    #: Name of the Secret.
    name: str = ""


class FederatedClusterSpec(Wire, frozen=True):
    """Access to a member cluster."""

    #: Address of its API server.
    api_endpoint: str = ""
    #: True if the certificate of the API server is not verified.
    insecure: bool = False
    #: True if a ServiceAccount in the member replaces the credentials in the Secret.
    use_service_account: bool = False
    #: The Secret with the credentials for joining.
    secret_ref: SecretReference = SecretReference()
    #: Taints, which policies may tolerate.
    taints: tuple[Taint, ...] = ()


class ClusterResources(Wire, frozen=True):
    """Capacity of a member cluster."""

    #: Number of nodes that accept pods; absent before the first observation.
    schedulable_nodes: int | None = None
    #: Sum of the allocatable resources of these nodes.
    allocatable: ResourceList = NO_AMOUNTS
    #: The allocatable resources minus the requests of the pods in the cluster.
    available: ResourceList = NO_AMOUNTS


class APIResource(Wire, frozen=True):
    """A kind that a member cluster serves."""

    #: API group; empty for the core group.
    group: str = ""
    #: Version within the group.
    version: str = ""
    #: Kind.
    kind: str = ""
    #: Name in the plural, as in URLs.
    plural_name: str = ""
    #: ``Namespaced`` or ``Cluster``.
    scope: str = ""


class FederatedClusterStatus(Wire, frozen=True):
    """Observed state of a member cluster."""

    #: Conditions ``Joined``, ``Ready`` and ``Offline``.
    conditions: tuple[Condition, ...] = ()
    #: Capacity of its nodes.
    resources: ClusterResources = ClusterResources()
    #: Kinds that it serves.
    api_resource_types: tuple[APIResource, ...] = ()
    #: True if the join has written anything to the member.
    join_performed: bool = False


class FederatedCluster(TypedObject, frozen=True):
    """A member cluster."""

    #: Access to the cluster.
    spec: FederatedClusterSpec = FederatedClusterSpec()
    #: Observed state.
    status: FederatedClusterStatus = FederatedClusterStatus()


# ---------------------------------------------------------------- propagation


class SchedulingMode(StrEnum):
    """Duplicate all replicas to every cluster, or divide them."""

    DUPLICATE = "Duplicate"
    DIVIDE = "Divide"


class ReplicasStrategy(StrEnum):
    """Strategy of dividing replicas."""

    SPREAD = "Spread"
    BINPACK = "Binpack"


class Preferences(Wire, frozen=True):
    """Bounds and share of one cluster."""

    #: Number of replicas that the cluster receives first.
    min_replicas: int = 0
    #: Maximum number of replicas; absent for no limit.
    max_replicas: int | None = None
    #: Share relative to the other clusters; absent means 0 if any cluster has a weight.
    weight: int | None = None
    #: Order of selection and of ``Binpack``; higher first.
    priority: int | None = None


class DesiredPlacement(Wire, frozen=True):
    """A cluster of a policy."""

    #: Name of the cluster.
    cluster: str
    #: Bounds and share.
    preferences: Preferences = Preferences()


class AutoMigrationTrigger(Wire, frozen=True):
    """Condition for moving pods to other clusters."""

    #: Duration after which an unschedulable pod is moved, for example ``1m``.
    pod_unschedulable_for: str = "1m"


class AutoMigration(Wire, frozen=True):
    """Move unschedulable pods to other clusters; absent means they stay."""

    #: Condition for moving pods.
    when: AutoMigrationTrigger = AutoMigrationTrigger()
    #: True if the unschedulable replicas also stay in their cluster.
    keep_unschedulable_replicas: bool = False


class RescheduleWhen(Wire, frozen=True):
    """Changes after which an object is scheduled again."""

    #: The policy changed.
    policy_content_changed: bool = True
    #: A cluster joined.
    cluster_joined: bool = False
    #: Labels of a cluster changed.
    cluster_labels_changed: bool = False
    #: The kinds that a cluster serves changed.
    cluster_api_resources_changed: bool = msgspec.field(
        default=False, name="clusterAPIResourcesChanged"
    )


class ReplicaRescheduling(Wire, frozen=True):
    """Movement of replicas when an object is scheduled again."""

    #: True if running replicas are kept where possible.
    avoid_disruption: bool = True


class ReschedulePolicy(Wire, frozen=True):
    """Conditions and manner of scheduling an object again."""

    #: True if a placement never changes.
    disable_rescheduling: bool = False
    #: Changes after which an object is scheduled again; absent for none of them.
    reschedule_when: RescheduleWhen | None = None
    #: Movement of replicas.
    replica_rescheduling: ReplicaRescheduling | None = None


class ResourceSelector(Wire, frozen=True):
    """Objects that a policy applies to without a label on the object; an extension of Stretto."""

    #: Group and version; empty for any.
    api_version: str = ""
    #: Kind; empty for any.
    kind: str = ""
    #: Names; empty for any.
    names: tuple[str, ...] = ()
    #: Labels that the object must have.
    match_labels: dict[str, str] = NO_TEXTS


class ClusterAffinityGroup(Wire, frozen=True):
    """One alternative of an affinity; an extension of Stretto."""

    #: Terms on clusters, of which one must match.
    terms: tuple[NodeSelectorTerm, ...]
    #: Name, for users.
    name: str = ""


class ClusterSpreadConstraint(Wire, frozen=True):
    """Required number of distinct label values of the clusters; an extension of Stretto."""

    #: Label of clusters, such as a region or a provider.
    label: str
    #: Minimum number of values.
    min_groups: int = 1
    #: Maximum number of values; absent for no limit.
    max_groups: int | None = None


class PropagationPolicySpec(Wire, frozen=True):
    """Placement of objects."""

    #: Duplicate all replicas, or divide them.
    scheduling_mode: SchedulingMode
    #: Name of a SchedulingProfile; empty for the default plugins.
    scheduling_profile: str = ""
    #: Strategy of dividing replicas in the mode ``Divide``.
    replicas_strategy: ReplicasStrategy = ReplicasStrategy.SPREAD
    #: Labels that clusters must have.
    cluster_selector: dict[str, str] = NO_TEXTS
    #: Terms on clusters, of which one must match; absent matches every cluster.
    cluster_affinity: tuple[NodeSelectorTerm, ...] | None = None
    #: Alternatives in order: the first alternative with a feasible cluster limits the clusters; an
    #: extension of Stretto.
    cluster_affinities: tuple[ClusterAffinityGroup, ...] = ()
    #: Spread over values of labels; an extension of Stretto.
    spread_constraints: tuple[ClusterSpreadConstraint, ...] = ()
    #: Tolerated taints of clusters.
    tolerations: tuple[Toleration, ...] = ()
    #: Maximum number of clusters; absent for no limit.
    max_clusters: int | None = None
    #: Clusters by name, with bounds and shares; absent for all clusters.
    placement: tuple[DesiredPlacement, ...] = ()
    #: True if the objects that a workload references do not follow it.
    disable_follower_scheduling: bool = False
    #: Migration of unschedulable pods to other clusters; absent means they stay.
    auto_migration: AutoMigration | None = None
    #: Conditions of scheduling objects again; absent: only changes of the policy.
    reschedule_policy: ReschedulePolicy | None = None
    #: Objects that need no label to use this policy; an extension of Stretto.
    resource_selectors: tuple[ResourceSelector, ...] = ()
    #: Precedence among policies that select the same object; higher first.
    priority: int = 0


class TypedRefCount(Wire, frozen=True):
    """Number of objects of one kind that refer to a policy."""

    #: API group.
    group: str = ""
    #: Name of the kind in the plural.
    resource: str = ""
    #: Number of objects.
    count: int = 0


class PolicyStatus(Wire, frozen=True):
    """Use of a policy."""

    #: Number of objects that refer to it.
    ref_count: int = 0
    #: Number of objects that refer to it, by kind.
    typed_ref_count: tuple[TypedRefCount, ...] = ()


class PropagationPolicy(Wire, frozen=True):
    """Placement rules of the objects of one namespace."""

    #: Rules.
    spec: PropagationPolicySpec
    #: Group and version.
    api_version: str = ""
    #: Kind.
    kind: str = ""
    #: Identity and bookkeeping.
    metadata: ObjectMeta = ObjectMeta()
    #: Use.
    status: PolicyStatus = PolicyStatus()


class ClusterPropagationPolicy(PropagationPolicy, frozen=True):
    """Placement rules for objects of all namespaces, and for cluster-scoped objects."""


# ---------------------------------------------------------------- overrides


class TargetClusters(Wire, frozen=True):
    """Clusters of an override rule; all three conditions must be met."""

    #: Names; empty for any.
    clusters: tuple[str, ...] = ()
    #: Labels that the cluster must have.
    cluster_selector: dict[str, str] = NO_TEXTS
    #: Terms on the cluster, of which one must match; empty for any.
    cluster_affinity: tuple[NodeSelectorTerm, ...] = ()


class OverriderOperator(StrEnum):
    """Operation of an overrider on its value."""

    ADD_IF_ABSENT = "addIfAbsent"
    OVERWRITE = "overwrite"
    DELETE = "delete"
    APPEND = "append"


class ImageComponent(StrEnum):
    """A part of the name of an image."""

    REGISTRY = "Registry"
    REPOSITORY = "Repository"
    TAG = "Tag"
    DIGEST = "Digest"


class ImageOperation(Wire, frozen=True):
    """A change of one part of the name of an image."""

    #: The part.
    image_component: ImageComponent
    #: The change.
    operator: OverriderOperator = OverriderOperator.OVERWRITE
    #: The new value; absent for ``delete``.
    value: str = ""


class ImageOverrider(Wire, frozen=True):
    """Changes of the images of containers."""

    #: Containers; empty for all.
    container_names: tuple[str, ...] = ()
    #: JSON pointer to an image outside a pod template; empty for containers.
    image_path: str = ""
    #: Changes, in order.
    operations: tuple[ImageOperation, ...] = ()


class EntrypointOverrider(Wire, frozen=True):
    """A change of the command or of the arguments of a container."""

    #: The container.
    container_name: str
    #: ``append``, ``overwrite`` or ``delete``.
    operator: OverriderOperator = OverriderOperator.OVERWRITE
    #: Words to append, to write or to delete.
    value: tuple[str, ...] = ()


class EnvVar(Wire, frozen=True):
    """An environment variable of a container."""

    #: Name.
    name: str
    #: Value; empty if ``value_from`` is set.
    value: str = ""
    #: Source of the value, as raw JSON.
    value_from: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class EnvOverrider(Wire, frozen=True):
    """A change of the environment of a container."""

    #: The container.
    container_name: str
    #: ``addIfAbsent``, ``overwrite`` or ``delete``.
    operator: OverriderOperator = OverriderOperator.OVERWRITE
    #: Variables.
    value: tuple[EnvVar, ...] = ()


class StringMapOverrider(Wire, frozen=True):
    """A change of labels or annotations."""

    #: ``addIfAbsent``, ``overwrite`` or ``delete``.
    operator: OverriderOperator = OverriderOperator.OVERWRITE
    #: Keys and values; ``delete`` ignores the values.
    value: dict[str, str] = NO_TEXTS


class JSONPatchOverrider(Wire, frozen=True):
    """One operation of a JSON patch."""

    #: JSON pointer.
    path: str
    #: ``replace``, ``add`` or ``remove``; empty for ``replace``.
    operator: str = ""
    #: The value; absent for ``remove``.
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Overriders(Wire, frozen=True):
    """Changes of an object, applied in the order of these fields."""

    #: Images.
    image: tuple[ImageOverrider, ...] = ()
    #: Commands.
    command: tuple[EntrypointOverrider, ...] = ()
    #: Arguments.
    args: tuple[EntrypointOverrider, ...] = ()
    #: Environment.
    envs: tuple[EnvOverrider, ...] = ()
    #: Annotations.
    annotations: tuple[StringMapOverrider, ...] = ()
    #: Labels.
    labels: tuple[StringMapOverrider, ...] = ()
    #: Any other field.
    jsonpatch: tuple[JSONPatchOverrider, ...] = ()


class OverrideRule(Wire, frozen=True):
    """Changes for some clusters."""

    #: The clusters; absent for all.
    target_clusters: TargetClusters | None = None
    #: The changes.
    overriders: Overriders = Overriders()


class OverridePolicySpec(Wire, frozen=True):
    """Rules in order; each rule sees the changes of the earlier ones."""

    #: The rules.
    override_rules: tuple[OverrideRule, ...] = ()


class OverridePolicy(TypedObject, frozen=True):
    """Differences between clusters for the objects of one namespace."""

    #: Rules.
    spec: OverridePolicySpec = OverridePolicySpec()
    #: Use.
    status: PolicyStatus = PolicyStatus()


class ClusterOverridePolicy(OverridePolicy, frozen=True):
    """Differences between clusters for objects of all namespaces and cluster-scoped objects."""
