"""Entries of the kinds of KubeAdmiral: those with a CRD in ``deploy/crds``."""

from typing import Final

from stretto.api.kinds.entry import AGE, Column, KindEntry, ManifestUse
from stretto.api.types.federation import objects, policies
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire

_GROUP: Final = "core.kubeadmiral.io"
_STATUS: Final = ("status",)


def _entry(
    struct: type[Wire],
    plural: str,
    *short_names: str,
    namespaced: bool = True,
    subresources: tuple[str, ...] = _STATUS,
    columns: tuple[Column, ...] = (),
) -> KindEntry:
    """The entry of a kind of KubeAdmiral, with the name of its struct."""
    return KindEntry(
        kind=Kind(_GROUP, "v1alpha1", struct.__name__, plural, namespaced=namespaced),
        short_names=short_names,
        categories=("kubeadmiral",),
        subresources=subresources,
        columns=(*columns, AGE),
        struct=struct,
        manifests=ManifestUse.SKIPPED,
    )


_REFERENCES: Final = (Column("References", ".status.refCount", "integer"),)
_SYNCED: Final = (Column("Synced", ".status.syncedGeneration", "integer"),)

FEDERATED_CLUSTER: Final = _entry(
    policies.FederatedCluster,
    "federatedclusters",
    "fcluster",
    namespaced=False,
    columns=(
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Joined", '.status.conditions[?(@.type=="Joined")].status'),
        Column("Nodes", ".status.resources.schedulableNodes", "integer", 1),
    ),
)
PROPAGATION_POLICY: Final = _entry(
    policies.PropagationPolicy,
    "propagationpolicies",
    "pp",
    columns=(Column("Mode", ".spec.schedulingMode"), *_REFERENCES),
)
CLUSTER_PROPAGATION_POLICY: Final = _entry(
    policies.ClusterPropagationPolicy,
    "clusterpropagationpolicies",
    "cpp",
    namespaced=False,
    columns=(Column("Mode", ".spec.schedulingMode"), *_REFERENCES),
)
OVERRIDE_POLICY: Final = _entry(
    policies.OverridePolicy, "overridepolicies", "op", columns=_REFERENCES
)
CLUSTER_OVERRIDE_POLICY: Final = _entry(
    policies.ClusterOverridePolicy,
    "clusteroverridepolicies",
    "cop",
    namespaced=False,
    columns=_REFERENCES,
)
SCHEDULING_PROFILE: Final = _entry(
    objects.SchedulingProfile,
    "schedulingprofiles",
    "sp",
    namespaced=False,
    subresources=(),
)
WEBHOOK_CONFIGURATION: Final = _entry(
    objects.SchedulerPluginWebhookConfiguration,
    "schedulerpluginwebhookconfigurations",
    "spwc",
    namespaced=False,
    subresources=(),
)
FEDERATED_TYPE_CONFIG: Final = _entry(
    objects.FederatedTypeConfig,
    "federatedtypeconfigs",
    "ftc",
    namespaced=False,
)
FEDERATED_OBJECT: Final = _entry(objects.FederatedObject, "federatedobjects", "fo", columns=_SYNCED)
CLUSTER_FEDERATED_OBJECT: Final = _entry(
    objects.ClusterFederatedObject,
    "clusterfederatedobjects",
    "cfo",
    namespaced=False,
    columns=_SYNCED,
)
COLLECTED_STATUS: Final = _entry(
    objects.CollectedStatus, "collectedstatuses", "cs", subresources=()
)
CLUSTER_COLLECTED_STATUS: Final = _entry(
    objects.ClusterCollectedStatus,
    "clustercollectedstatuses",
    "ccs",
    namespaced=False,
    subresources=(),
)
PROPAGATED_VERSION: Final = _entry(objects.PropagatedVersion, "propagatedversions")
CLUSTER_PROPAGATED_VERSION: Final = _entry(
    objects.ClusterPropagatedVersion, "clusterpropagatedversions", namespaced=False
)

FEDERATION: Final = (
    FEDERATED_CLUSTER,
    PROPAGATION_POLICY,
    CLUSTER_PROPAGATION_POLICY,
    OVERRIDE_POLICY,
    CLUSTER_OVERRIDE_POLICY,
    SCHEDULING_PROFILE,
    WEBHOOK_CONFIGURATION,
    FEDERATED_TYPE_CONFIG,
    FEDERATED_OBJECT,
    CLUSTER_FEDERATED_OBJECT,
    COLLECTED_STATUS,
    CLUSTER_COLLECTED_STATUS,
    PROPAGATED_VERSION,
    CLUSTER_PROPAGATED_VERSION,
)
"""All entries."""
