"""Entries of the other kinds of Kubernetes, whose objects stay raw."""

from typing import Final

from stretto.api.kinds.entry import AGE, Column, KindEntry, ManifestUse, grant
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, POD_METRICS, Kind

_STATUS: Final = ("status",)
_SKIPPED: Final = ManifestUse.SKIPPED
_REFUSED: Final = ManifestUse.REFUSED
_METRICS_ROLES: Final = "scheduler reads scaler"
"""Roles that check the rights of readers of their metrics."""


def _namespaced(group: str, version: str, kind: str, plural: str) -> Kind:
    """A kind whose objects live in a namespace."""
    return Kind(group, version, kind, plural)


def _cluster(group: str, version: str, kind: str, plural: str) -> Kind:
    """A cluster-scoped kind."""
    return Kind(group, version, kind, plural, namespaced=False)


def _entry(
    kind: Kind,
    use: ManifestUse,
    short: str = "",
    subresources: tuple[str, ...] = (),
    columns: tuple[Column, ...] = (),
) -> KindEntry:
    """An entry without a struct; ``short`` is separated by spaces."""
    return KindEntry(
        kind=kind,
        short_names=tuple(short.split()),
        subresources=subresources,
        columns=(*columns, AGE),
        manifests=use,
    )


_CORE: Final = (
    _entry(_namespaced("", "v1", "Endpoints", "endpoints"), _SKIPPED, "ep"),
    _entry(_namespaced("", "v1", "PodTemplate", "podtemplates"), _SKIPPED),
    _entry(
        _namespaced("", "v1", "Secret", "secrets"), _SKIPPED, columns=(Column("Type", ".type"),)
    ),
    _entry(_namespaced("", "v1", "ServiceAccount", "serviceaccounts"), _SKIPPED, "sa", ("token",)),
    _entry(_cluster("", "v1", "ComponentStatus", "componentstatuses"), _REFUSED, "cs"),
)

_AUTOSCALING_COLUMNS: Final = (
    Column("Reference", ".spec.scaleTargetRef.name"),
    Column("MinPods", ".spec.minReplicas", "integer"),
    Column("MaxPods", ".spec.maxReplicas", "integer"),
    Column("Replicas", ".status.currentReplicas", "integer"),
)
_CRON_COLUMNS: Final = (
    Column("Schedule", ".spec.schedule"),
    Column("Suspend", ".spec.suspend", "boolean"),
    Column("Last Schedule", ".status.lastScheduleTime", "date"),
)
_WORKLOADS: Final = (
    _entry(
        _namespaced("apps", "v1", "ControllerRevision", "controllerrevisions"),
        _SKIPPED,
        columns=(Column("Revision", ".revision", "integer"),),
    ),
    _entry(
        _namespaced("batch", "v1", "CronJob", "cronjobs"), _SKIPPED, "cj", _STATUS, _CRON_COLUMNS
    ),
    _entry(
        _namespaced("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        _SKIPPED,
        "hpa",
        _STATUS,
        _AUTOSCALING_COLUMNS,
    ),
    _entry(
        _namespaced("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        _SKIPPED,
        "",
        _STATUS,
        _AUTOSCALING_COLUMNS,
    ),
    _entry(_namespaced("autoscaling", "v1", "Scale", "scales"), _REFUSED),
    _entry(_namespaced("policy", "v1", "Eviction", "evictions"), _REFUSED),
    _entry(_namespaced("scheduling.k8s.io", "v1alpha2", "Workload", "workloads"), _SKIPPED),
)

_NETWORKING: Final = "networking.k8s.io"
_NETWORK: Final = (
    _entry(_namespaced(_NETWORKING, "v1", "Ingress", "ingresses"), _SKIPPED, "ing", _STATUS),
    _entry(
        _cluster(_NETWORKING, "v1", "IngressClass", "ingressclasses"),
        _SKIPPED,
        columns=(Column("Controller", ".spec.controller"),),
    ),
    _entry(
        _namespaced(_NETWORKING, "v1", "NetworkPolicy", "networkpolicies"),
        _SKIPPED,
        "netpol",
        columns=(Column("Pod-Selector", ".spec.podSelector"),),
    ),
    _entry(
        _cluster(_NETWORKING, "v1", "IPAddress", "ipaddresses"),
        _SKIPPED,
        "ip",
        columns=(Column("ParentRef", ".spec.parentRef.name"),),
    ),
    _entry(
        _cluster(_NETWORKING, "v1", "ServiceCIDR", "servicecidrs"),
        _SKIPPED,
        "",
        _STATUS,
        (Column("CIDRs", ".spec.cidrs"),),
    ),
    _entry(
        _namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
        _SKIPPED,
        columns=(Column("AddressType", ".addressType"),),
    ),
    KindEntry(
        kind=Kind("events.k8s.io", "v1", "Event", "events"),
        qualified=True,
        short_names=("ev",),
        columns=(
            Column("Last Seen", ".deprecatedLastTimestamp", "date"),
            Column("Type", ".type"),
            Column("Reason", ".reason"),
            Column("Object", ".regarding.name"),
            Column("Message", ".note"),
        ),
        manifests=_REFUSED,
    ),
)

_RBAC: Final = "rbac.authorization.k8s.io"
_ROLE_REF: Final = (Column("Role", ".roleRef.name"),)
_ACCESS: Final = (
    _entry(_namespaced(_RBAC, "v1", "Role", "roles"), _SKIPPED),
    _entry(_namespaced(_RBAC, "v1", "RoleBinding", "rolebindings"), _SKIPPED, columns=_ROLE_REF),
    _entry(_cluster(_RBAC, "v1", "ClusterRole", "clusterroles"), _SKIPPED),
    _entry(
        _cluster(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"),
        _SKIPPED,
        columns=_ROLE_REF,
    ),
    KindEntry(
        kind=_cluster("authentication.k8s.io", "v1", "TokenReview", "tokenreviews"),
        manifests=_REFUSED,
        grants=grant(_METRICS_ROLES, "create"),
    ),
    _entry(
        _cluster("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews"),
        _REFUSED,
    ),
    KindEntry(
        kind=_cluster("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews"),
        manifests=_REFUSED,
        grants=grant(_METRICS_ROLES, "create"),
    ),
    _entry(
        _namespaced(
            "authorization.k8s.io",
            "v1",
            "LocalSubjectAccessReview",
            "localsubjectaccessreviews",
        ),
        _REFUSED,
    ),
    _entry(
        _cluster(
            "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews"
        ),
        _REFUSED,
    ),
    _entry(
        _cluster("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
        _REFUSED,
    ),
    _entry(
        _cluster(
            "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests"
        ),
        _SKIPPED,
        "csr",
        ("approval", "status"),
        (Column("SignerName", ".spec.signerName"), Column("Requestor", ".spec.username")),
    ),
    _entry(
        _cluster("certificates.k8s.io", "v1beta1", "ClusterTrustBundle", "clustertrustbundles"),
        _SKIPPED,
        columns=(Column("SignerName", ".spec.signerName"),),
    ),
)

_ADMISSION: Final = "admissionregistration.k8s.io"
_EXTENSIONS: Final = (
    KindEntry(
        kind=CUSTOM_RESOURCE_DEFINITION,
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=_STATUS,
        columns=(Column("Created At", ".metadata.creationTimestamp", "date"),),
        manifests=_SKIPPED,
        grants=grant("scheduler reads reader scaler", "get"),
    ),
    KindEntry(
        kind=POD_METRICS,
        qualified=True,
        manifests=_REFUSED,
        grants=grant("vertical", "list"),
    ),
    _entry(
        _cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices"),
        _SKIPPED,
        "",
        _STATUS,
        (Column("Service", ".spec.service.name"),),
    ),
    _entry(
        _cluster(_ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        _SKIPPED,
    ),
    _entry(
        _cluster(
            _ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"
        ),
        _SKIPPED,
    ),
    _entry(
        _cluster(_ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        _SKIPPED,
        "",
        _STATUS,
    ),
    _entry(
        _cluster(
            _ADMISSION,
            "v1",
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ),
        _SKIPPED,
        columns=(Column("PolicyName", ".spec.policyName"),),
    ),
    _entry(
        _cluster(_ADMISSION, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
        _SKIPPED,
    ),
    _entry(
        _cluster(
            _ADMISSION, "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"
        ),
        _SKIPPED,
        columns=(Column("PolicyName", ".spec.policyName"),),
    ),
)

_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_DEVICES: Final = "resource.k8s.io"
_INFRASTRUCTURE: Final = (
    _entry(
        _cluster(_FLOW, "v1", "FlowSchema", "flowschemas"),
        _SKIPPED,
        "",
        _STATUS,
        (
            Column("PriorityLevel", ".spec.priorityLevelConfiguration.name"),
            Column("MatchingPrecedence", ".spec.matchingPrecedence", "integer"),
        ),
    ),
    _entry(
        _cluster(_FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations"),
        _SKIPPED,
        "",
        _STATUS,
        (Column("Type", ".spec.type"),),
    ),
    _entry(
        _cluster("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses"),
        _SKIPPED,
        "vac",
        columns=(Column("DriverName", ".driverName"),),
    ),
    _entry(_namespaced(_DEVICES, "v1", "ResourceClaim", "resourceclaims"), _SKIPPED, "", _STATUS),
    _entry(
        _namespaced(_DEVICES, "v1", "ResourceClaimTemplate", "resourceclaimtemplates"), _SKIPPED
    ),
    _entry(_cluster(_DEVICES, "v1", "DeviceClass", "deviceclasses"), _SKIPPED),
    _entry(
        _cluster(_DEVICES, "v1", "ResourceSlice", "resourceslices"),
        _SKIPPED,
        columns=(
            Column("Node", ".spec.nodeName"),
            Column("Driver", ".spec.driver"),
            Column("Pool", ".spec.pool.name"),
        ),
    ),
    _entry(
        _namespaced("coordination.k8s.io", "v1beta1", "LeaseCandidate", "leasecandidates"),
        _SKIPPED,
        columns=(Column("LeaseName", ".spec.leaseName"),),
    ),
)

RAW: Final = (*_CORE, *_WORKLOADS, *_NETWORK, *_ACCESS, *_EXTENSIONS, *_INFRASTRUCTURE)
"""All entries."""
