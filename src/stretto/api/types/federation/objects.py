"""Configuration and internal objects of ``core.kubeadmiral.io/v1alpha1``.

SchedulingProfile, webhooks and FederatedTypeConfig configure the controllers. Controllers write
FederatedObject, CollectedStatus and PropagatedVersion for each other.
"""

from enum import StrEnum
from typing import Any

import msgspec

from stretto.api.types.federation.policies import APIResource, TypedObject
from stretto.api.wire.meta import Condition, Wire

# ---------------------------------------------------------------- scheduling


class SchedulingPlugin(Wire, frozen=True):
    """A plugin of a profile."""

    #: Name.
    name: str
    #: Empty for a built-in plugin, ``Webhook`` for a SchedulerPluginWebhookConfiguration.
    type: str = ""
    #: Weight of its scores. The misspelt name on the wire is KubeAdmiral's.
    weight: int = msgspec.field(default=0, name="wait")


class PluginSet(Wire, frozen=True):
    """Changes of the default plugins of one stage."""

    #: Additional plugins, after the default ones.
    enabled: tuple[SchedulingPlugin, ...] = ()
    #: Default plugins to disable; ``*`` for all.
    disabled: tuple[SchedulingPlugin, ...] = ()


class SchedulingPlugins(Wire, frozen=True):
    """Plugins by stage."""

    #: Plugins that exclude clusters.
    filter: PluginSet = PluginSet()
    #: Plugins that rate clusters.
    score: PluginSet = PluginSet()
    #: Plugins that select among the clusters.
    select: PluginSet = PluginSet()
    #: The plugin that divides replicas; an extension of KubeAdmiral's profile.
    replicas: PluginSet = PluginSet()


class PluginConfig(Wire, frozen=True):
    """Arguments of a plugin."""

    #: Name of the plugin.
    name: str
    #: Arguments.
    args: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class SchedulingProfileSpec(Wire, frozen=True):
    """Plugins of a profile."""

    #: Changes of the default plugins; absent for none.
    plugins: SchedulingPlugins | None = None
    #: Arguments of plugins.
    plugin_config: tuple[PluginConfig, ...] = ()


class SchedulingProfile(TypedObject, frozen=True):
    """The plugins by which objects are scheduled."""

    #: Plugins.
    spec: SchedulingProfileSpec = SchedulingProfileSpec()


class WebhookTLSConfig(Wire, frozen=True):
    """TLS of a webhook."""

    #: True if the certificate of the server is not verified.
    insecure: bool = False
    #: Name in the certificate, if it differs from the address.
    server_name: str = ""
    #: Client certificate, base64 of PEM.
    cert_data: str = ""
    #: Key of the client certificate, base64 of PEM.
    key_data: str = ""
    #: Certificate authority of the server, base64 of PEM.
    ca_data: str = ""


class WebhookConfigurationSpec(Wire, frozen=True):
    """Address of a webhook."""

    #: Versions of the payload that the server understands.
    payload_versions: tuple[str, ...] = ()
    #: Start of the address.
    url_prefix: str = ""
    #: Path for the filter stage; empty if the server does not support it.
    filter_path: str = ""
    #: Path for the score stage; empty if the server does not support it.
    score_path: str = ""
    #: Path for the select stage; empty if the server does not support it.
    select_path: str = ""
    #: Path for the replicas stage; empty if the server does not support it. An extension of
    #: KubeAdmiral's configuration.
    replicas_path: str = ""
    #: TLS; absent for the defaults.
    tls_config: WebhookTLSConfig | None = None
    #: Timeout of a call, for example ``5s``.
    http_timeout: str = "5s"


class SchedulerPluginWebhookConfiguration(TypedObject, frozen=True):
    """A plugin that runs on another server."""

    #: Address and timeout.
    spec: WebhookConfigurationSpec = WebhookConfigurationSpec()


# ---------------------------------------------------------------- kinds


class StatusCombination(StrEnum):
    """Function that combines the values of all members."""

    SUM = "Sum"
    MIN = "Min"
    MAX = "Max"
    ALL = "All"
    ANY = "Any"
    LIST = "List"


class StatusRule(Wire, frozen=True):
    """Computation of one field of the source's status; an extension of Stretto."""

    #: Path of the field under ``status``, with dots.
    field: str
    #: CEL expression over ``members``, the objects of all members, each with ``cluster``.
    cel: str = ""
    #: JSONPath of a value in the object of each member.
    json_path: str = ""
    #: Function that combines the values of ``jsonPath``.
    combine: StatusCombination = StatusCombination.SUM


class StatusAggregation(Wire, frozen=True):
    """Aggregation of the members' status in the source."""

    #: True if the status of members is merged into the source.
    enabled: bool = True
    #: Rules for the fields of the status; absent for the rules of built-in kinds.
    rules: tuple[StatusRule, ...] = ()


class StatusCollection(Wire, frozen=True):
    """Collection of fields of members."""

    #: True if fields of members are collected.
    enabled: bool = True
    #: Paths of the fields, with dots.
    fields: tuple[str, ...] = ()


class AutoMigrationSwitch(Wire, frozen=True):
    """Automatic migration of unschedulable pods."""

    #: True if pods of this kind may move to other clusters.
    enabled: bool = False


class PathDefinition(Wire, frozen=True):
    """Paths of the fields of a workload, with dots; empty for fields that the kind lacks."""

    #: Label selector of the pods.
    label_selector: str = ""
    #: Desired replicas.
    replicas_spec: str = ""
    #: Observed replicas.
    replicas_status: str = ""
    #: Available replicas.
    available_replicas_status: str = ""
    #: Ready replicas.
    ready_replicas_status: str = ""


class FederatedTypeConfigSpec(Wire, frozen=True):
    """Federation of the objects of one kind."""

    #: The kind.
    source_type: APIResource = APIResource()
    #: Aggregation of the members' status; absent means enabled.
    status_aggregation: StatusAggregation | None = None
    #: Collection of fields of members; absent means disabled.
    status_collection: StatusCollection | None = None
    #: Migration of unschedulable pods; absent means disabled.
    auto_migration: AutoMigrationSwitch | None = None
    #: Controllers that process an object before it is written to members, group by group.
    controllers: tuple[tuple[str, ...], ...] = ()
    #: Paths of the fields of a workload.
    path_definition: PathDefinition = PathDefinition()


class FederatedTypeConfigStatus(Wire, frozen=True):
    """Status of a configuration."""

    #: Condition ``Accepted``, once there is something to report.
    conditions: tuple[Condition, ...] = ()


class FederatedTypeConfig(TypedObject, frozen=True):
    """Configuration of one federated kind."""

    #: Configuration.
    spec: FederatedTypeConfigSpec = FederatedTypeConfigSpec()
    #: Status.
    status: FederatedTypeConfigStatus = FederatedTypeConfigStatus()


# ---------------------------------------------------------------- federated objects


class ClusterReference(Wire, frozen=True):
    """A cluster by name."""

    #: Name.
    cluster: str


class ControllerPlacement(Wire, frozen=True):
    """Clusters chosen by one controller; the placements of all controllers together are used."""

    #: The controller.
    controller: str
    #: Its clusters.
    placement: tuple[ClusterReference, ...] = ()


class OverridePatch(Wire, frozen=True):
    """One operation of a JSON patch."""

    #: JSON pointer.
    path: str
    #: ``replace``, ``add`` or ``remove``; empty for ``replace``.
    op: str = ""
    #: The value; absent for ``remove``.
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ClusterPatches(Wire, frozen=True):
    """Differences of the object in one cluster."""

    #: Name of the cluster.
    cluster: str
    #: Operations, in order.
    patches: tuple[OverridePatch, ...] = ()


class ControllerOverrides(Wire, frozen=True):
    """Differences between clusters computed by one controller."""

    #: The controller.
    controller: str
    #: Differences by cluster.
    override: tuple[ClusterPatches, ...] = msgspec.field(default=(), name="clusters")


class LeaderReference(Wire, frozen=True):
    """An object of the same namespace whose placement this object follows."""

    #: API group.
    group: str = ""
    #: Kind.
    kind: str = ""
    #: Name.
    name: str = ""


class FederatedObjectSpec(Wire, frozen=True):
    """An object, its placement and its differences between clusters."""

    #: The object for all members, before the differences are applied.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: Placements by controller; the effective placement is their union.
    placements: tuple[ControllerPlacement, ...] = ()
    #: Differences by controller.
    overrides: tuple[ControllerOverrides, ...] = ()
    #: Objects whose placement this object follows.
    follows: tuple[LeaderReference, ...] = ()


class PropagationStatus(StrEnum):
    """State of an object in one cluster."""

    OK = "OK"
    WAITING_FOR_REMOVAL = "WaitingForRemoval"
    PENDING_CREATE = "PendingCreate"
    CLUSTER_NOT_READY = "ClusterNotReady"
    CLUSTER_TERMINATING = "ClusterTerminating"
    APPLY_OVERRIDES_FAILED = "ApplyOverridesFailed"
    CREATION_FAILED = "CreationFailed"
    UPDATE_FAILED = "UpdateFailed"
    DELETION_FAILED = "DeletionFailed"
    LABEL_REMOVAL_FAILED = "LabelRemovalFailed"
    RETRIEVAL_FAILED = "RetrievalFailed"
    ALREADY_EXISTS = "AlreadyExists"
    MANAGED_LABEL_FALSE = "ManagedLabelFalse"
    CLIENT_RETRIEVAL_FAILED = "ClientRetrievalFailed"
    UPDATE_TIMED_OUT = "UpdateTimedOut"
    LABEL_REMOVAL_TIMED_OUT = "LabelRemovalTimedOut"


class ClusterStatus(Wire, frozen=True):
    """State of an object in one cluster."""

    #: Name of the cluster.
    cluster: str
    #: A ``PropagationStatus``.
    status: str = ""
    #: Generation of the member's object to which its status refers.
    last_observed_generation: int = 0


class FederatedObjectStatus(Wire, frozen=True):
    """Progress of an object."""

    #: Generation that all members have.
    synced_generation: int = 0
    #: Condition ``Propagated``.
    conditions: tuple[Condition, ...] = ()
    #: State by cluster.
    clusters: tuple[ClusterStatus, ...] = ()


class FederatedObject(TypedObject, frozen=True):
    """A namespaced object that is propagated to members."""

    #: The object, its placement and its differences.
    spec: FederatedObjectSpec = FederatedObjectSpec()
    #: Progress.
    status: FederatedObjectStatus = FederatedObjectStatus()


class ClusterFederatedObject(FederatedObject, frozen=True):
    """A cluster-scoped object that is propagated to members."""


class CollectedCluster(Wire, frozen=True):
    """Fields of the object in one cluster."""

    #: Name of the cluster.
    cluster: str
    #: The fields.
    collected_fields: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Reason why they could not be read.
    error: str = ""


class CollectedStatus(TypedObject, frozen=True):
    """Fields of an object in all its clusters."""

    #: Fields by cluster.
    clusters: tuple[CollectedCluster, ...] = ()
    #: RFC 3339 time of the last change.
    last_update_time: str | None = None


class ClusterCollectedStatus(CollectedStatus, frozen=True):
    """Fields of a cluster-scoped object in all its clusters."""


class ClusterObjectVersion(Wire, frozen=True):
    """Version of the object in one cluster."""

    #: Name of the cluster.
    cluster_name: str
    #: ``gen:`` and a generation, or ``rv:`` and a version.
    version: str = ""


class PropagatedVersionStatus(Wire, frozen=True):
    """Versions that members have received."""

    #: Digest of the template.
    template_version: str = ""
    #: Digest of the differences.
    overrides_version: str = ""
    #: Versions of the members' objects.
    cluster_versions: tuple[ClusterObjectVersion, ...] = ()


class PropagatedVersion(TypedObject, frozen=True):
    """Versions of a federated object in its clusters."""

    #: Versions.
    status: PropagatedVersionStatus = PropagatedVersionStatus()


class ClusterPropagatedVersion(PropagatedVersion, frozen=True):
    """Versions of a federated cluster-scoped object in its clusters."""
