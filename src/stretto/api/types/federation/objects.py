"""Configuration and internal objects of ``core.kubeadmiral.io/v1alpha1``.

SchedulingProfile, webhooks and FederatedTypeConfig configure the controllers. FederatedObject,
CollectedStatus and PropagatedVersion are written by controllers for each other.
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

    #: Plugins after those of the default.
    enabled: tuple[SchedulingPlugin, ...] = ()
    #: Default plugins to leave out; ``*`` for all.
    disabled: tuple[SchedulingPlugin, ...] = ()


class SchedulingPlugins(Wire, frozen=True):
    """Plugins by stage."""

    #: Plugins that exclude clusters.
    filter: PluginSet = PluginSet()
    #: Plugins that rate clusters.
    score: PluginSet = PluginSet()
    #: Plugins that choose among the clusters.
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
    #: Name in the certificate, where it differs from the address.
    server_name: str = ""
    #: Client certificate, base64 of PEM.
    cert_data: str = ""
    #: Key of the client certificate, base64 of PEM.
    key_data: str = ""
    #: Certificate authority of the server, base64 of PEM.
    ca_data: str = ""


class WebhookConfigurationSpec(Wire, frozen=True):
    """Where a webhook is called."""

    #: Versions of the payload that the server understands.
    payload_versions: tuple[str, ...] = ()
    #: Start of the address.
    url_prefix: str = ""
    #: Path for the filter stage; empty where the server has none.
    filter_path: str = ""
    #: Path for the score stage; empty where the server has none.
    score_path: str = ""
    #: Path for the select stage; empty where the server has none.
    select_path: str = ""
    #: Path for the replicas stage; empty where the server has none. An extension of KubeAdmiral's.
    replicas_path: str = ""
    #: TLS; absent for the defaults.
    tls_config: WebhookTLSConfig | None = None
    #: Longest time of a call, for example ``5s``.
    http_timeout: str = "5s"


class SchedulerPluginWebhookConfiguration(TypedObject, frozen=True):
    """A plugin that runs on another server."""

    #: Where it is called.
    spec: WebhookConfigurationSpec = WebhookConfigurationSpec()


# ---------------------------------------------------------------- kinds


class StatusCombination(StrEnum):
    """How the values of all members become one."""

    SUM = "Sum"
    MIN = "Min"
    MAX = "Max"
    ALL = "All"
    ANY = "Any"
    LIST = "List"


class StatusRule(Wire, frozen=True):
    """How one field of the status of the source is computed; an extension of Stretto."""

    #: Path of the field under ``status``, with dots.
    field: str
    #: CEL expression over ``members``, the objects of all members, each with ``cluster``.
    cel: str = ""
    #: JSONPath of a value in the object of each member.
    json_path: str = ""
    #: How the values of ``jsonPath`` become one.
    combine: StatusCombination = StatusCombination.SUM


class StatusAggregation(Wire, frozen=True):
    """True if the status of members is merged into the source."""

    #: True if it is.
    enabled: bool = True
    #: Rules for the fields of the status; absent for those of built-in kinds.
    rules: tuple[StatusRule, ...] = ()


class StatusCollection(Wire, frozen=True):
    """True if fields of members are collected."""

    #: True if they are.
    enabled: bool = True
    #: Paths of the fields, with dots.
    fields: tuple[str, ...] = ()


class AutoMigrationSwitch(Wire, frozen=True):
    """True if pods of this kind may move to other clusters."""

    #: True if they may.
    enabled: bool = False


class PathDefinition(Wire, frozen=True):
    """Paths of the fields of a workload, with dots; empty where the kind has none."""

    #: Label selector of the pods.
    label_selector: str = ""
    #: Wanted replicas.
    replicas_spec: str = ""
    #: Observed replicas.
    replicas_status: str = ""
    #: Available replicas.
    available_replicas_status: str = ""
    #: Ready replicas.
    ready_replicas_status: str = ""


class FederatedTypeConfigSpec(Wire, frozen=True):
    """How objects of one kind are federated."""

    #: The kind.
    source_type: APIResource = APIResource()
    #: Merging of the status of members; absent for enabled.
    status_aggregation: StatusAggregation | None = None
    #: Collection of fields of members; absent for none.
    status_collection: StatusCollection | None = None
    #: Movement of unschedulable pods; absent for none.
    auto_migration: AutoMigrationSwitch | None = None
    #: Controllers that work on an object before it is written to members, group by group.
    controllers: tuple[tuple[str, ...], ...] = ()
    #: Paths of the fields of a workload.
    path_definition: PathDefinition = PathDefinition()


class FederatedTypeConfigStatus(Wire, frozen=True):
    """True if a configuration is used."""

    #: Condition ``Accepted``, once there was something to report.
    conditions: tuple[Condition, ...] = ()


class FederatedTypeConfig(TypedObject, frozen=True):
    """Configuration of one kind."""

    #: Configuration.
    spec: FederatedTypeConfigSpec = FederatedTypeConfigSpec()
    #: True if it is used.
    status: FederatedTypeConfigStatus = FederatedTypeConfigStatus()


# ---------------------------------------------------------------- federated objects


class ClusterReference(Wire, frozen=True):
    """A cluster by name."""

    #: Name.
    cluster: str


class ControllerPlacement(Wire, frozen=True):
    """Clusters that one controller has chosen; all controllers together place an object."""

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
    #: The value; none for ``remove``.
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ClusterPatches(Wire, frozen=True):
    """Differences of the object in one cluster."""

    #: Name of the cluster.
    cluster: str
    #: Operations, in order.
    patches: tuple[OverridePatch, ...] = ()


class ControllerOverrides(Wire, frozen=True):
    """Differences between clusters that one controller has computed."""

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
    """An object, where it goes and how it differs there."""

    #: The object as it goes to members, before the differences.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: Placements by controller; the effective placement is their union.
    placements: tuple[ControllerPlacement, ...] = ()
    #: Differences by controller.
    overrides: tuple[ControllerOverrides, ...] = ()
    #: Objects whose placement this one follows.
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
    #: Generation of the member's object that its status describes.
    last_observed_generation: int = 0


class FederatedObjectStatus(Wire, frozen=True):
    """Progress of an object."""

    #: Generation that the members have.
    synced_generation: int = 0
    #: Condition ``Propagated``.
    conditions: tuple[Condition, ...] = ()
    #: State by cluster.
    clusters: tuple[ClusterStatus, ...] = ()


class FederatedObject(TypedObject, frozen=True):
    """An object of a namespace on its way to members."""

    #: What goes where.
    spec: FederatedObjectSpec = FederatedObjectSpec()
    #: Progress.
    status: FederatedObjectStatus = FederatedObjectStatus()


class ClusterFederatedObject(FederatedObject, frozen=True):
    """An object without a namespace on its way to members."""


class CollectedCluster(Wire, frozen=True):
    """Fields of the object in one cluster."""

    #: Name of the cluster.
    cluster: str
    #: The fields.
    collected_fields: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Why they could not be read.
    error: str = ""


class CollectedStatus(TypedObject, frozen=True):
    """Fields of an object in all its clusters."""

    #: Fields by cluster.
    clusters: tuple[CollectedCluster, ...] = ()
    #: RFC 3339 time of the last change.
    last_update_time: str | None = None


class ClusterCollectedStatus(CollectedStatus, frozen=True):
    """Fields of an object without a namespace in all its clusters."""


class ClusterObjectVersion(Wire, frozen=True):
    """Version of the object in one cluster."""

    #: Name of the cluster.
    cluster_name: str
    #: ``gen:`` and a generation, or ``rv:`` and a version.
    version: str = ""


class PropagatedVersionStatus(Wire, frozen=True):
    """What members have received."""

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
    """Versions of a federated object without a namespace in its clusters."""
