"""Columns and cells of the kinds, in one table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from stretto.web.api.resources import ServedResource
from stretto.web.api.tables import cluster, core, metrics, pods, workloads
from stretto.web.api.tables.layouts import LAYOUTS

Json = dict[str, Any]

Cells = Callable[[Json, float], list[Any]]
"""Returns the cells of an object after its name, at a time."""


@dataclass(frozen=True)
class TableColumn:
    """One column."""

    #: Heading.
    name: str
    #: OpenAPI type.
    type: str = "string"
    #: OpenAPI format; ``name`` marks the name of the object.
    format: str = ""
    #: 0 for the normal view; columns with greater values appear only in the wide view.
    priority: int = 0
    #: Its description.
    description: str = ""

    def definition(self) -> Json:
        """The column as in a table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True)
class TableFormat:
    """Table format of a kind's objects."""

    #: The columns.
    columns: tuple[TableColumn, ...]
    #: Returns the cells of an object, with its name.
    cells: Cells
    #: True if only name and creation are shown; the rows of an empty list are then absent.
    is_plain: bool = False
    #: The order of the rows; ``None`` for the order of the list.
    order: Callable[[Json], Any] | None = None


NAME: Final = TableColumn("Name", "string", "name", 0, "Name of the object within its namespace.")

_FLOW_SCHEMA: Final = ("flowcontrol.apiserver.k8s.io", "FlowSchema")
_CELLS: Final[Mapping[tuple[str, str], Cells]] = {
    ("", "Pod"): pods.pod,
    ("", "Node"): pods.node,
    ("", "ConfigMap"): core.config_map,
    ("", "Secret"): core.secret,
    ("", "Namespace"): core.namespace,
    ("", "ServiceAccount"): core.account,
    ("", "ComponentStatus"): core.component,
    ("", "Endpoints"): core.endpoints,
    ("", "Service"): core.service,
    ("", "Event"): core.event,
    ("events.k8s.io", "Event"): core.event,
    ("", "PersistentVolumeClaim"): core.claim,
    ("", "PersistentVolume"): core.volume,
    ("", "ResourceQuota"): core.quota,
    ("", "PodTemplate"): core.pod_template,
    ("", "ReplicationController"): workloads.controller,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "ReplicaSet"): workloads.replica_set,
    ("apps", "DaemonSet"): workloads.daemon_set,
    ("apps", "StatefulSet"): workloads.stateful_set,
    ("apps", "ControllerRevision"): workloads.revision,
    ("batch", "Job"): workloads.job,
    ("batch", "CronJob"): workloads.cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): workloads.autoscaler,
    ("autoscaling", "Scale"): workloads.scale,
    ("policy", "PodDisruptionBudget"): workloads.budget,
    ("metrics.k8s.io", "NodeMetrics"): metrics.node_metrics,
    ("metrics.k8s.io", "PodMetrics"): metrics.pod_metrics,
    ("apiregistration.k8s.io", "APIService"): cluster.api_service,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): cluster.binding,
    ("rbac.authorization.k8s.io", "RoleBinding"): cluster.binding,
    ("certificates.k8s.io", "CertificateSigningRequest"): cluster.signing_request,
    ("networking.k8s.io", "Ingress"): cluster.ingress,
    ("networking.k8s.io", "IngressClass"): cluster.ingress_class,
    ("networking.k8s.io", "IPAddress"): cluster.ip_address,
    ("networking.k8s.io", "NetworkPolicy"): core.policy,
    ("networking.k8s.io", "ServiceCIDR"): cluster.service_cidr,
    ("storage.k8s.io", "CSIDriver"): cluster.csi_driver,
    ("storage.k8s.io", "CSINode"): cluster.csi_node,
    ("storage.k8s.io", "StorageClass"): cluster.storage_class,
    ("storage.k8s.io", "VolumeAttachment"): cluster.attachment,
    ("storage.k8s.io", "VolumeAttributesClass"): cluster.attributes_class,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): cluster.webhooks,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): cluster.webhooks,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): cluster.admission_policy,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): cluster.admission_policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): cluster.policy_binding,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): cluster.policy_binding,
    ("scheduling.k8s.io", "PriorityClass"): cluster.priority_class,
    ("coordination.k8s.io", "Lease"): cluster.lease,
    ("node.k8s.io", "RuntimeClass"): cluster.runtime_class,
    ("discovery.k8s.io", "EndpointSlice"): cluster.endpoint_slice,
    ("resource.k8s.io", "DeviceClass"): cluster.age_only,
    ("resource.k8s.io", "ResourceClaim"): cluster.resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): cluster.age_only,
    ("resource.k8s.io", "ResourceSlice"): cluster.resource_slice,
    _FLOW_SCHEMA: cluster.flow_schema,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): cluster.priority_level,
}


_PLAIN: Final = "Created At:date"
"""Columns of kinds without their own columns."""


def columns_of(resource: ServedResource) -> TableFormat:
    """Return the table format of a resource."""
    if resource.definition is not None:
        return resource.version["table"]  # type: ignore[no-any-return]
    return format_of(resource.key)


@cache
def format_of(key: tuple[str, str]) -> TableFormat:
    """Return the table format of a kind of Kubernetes."""
    layout = LAYOUTS.get(key, _PLAIN)
    columns = tuple(_column(text.strip()) for text in layout.split(","))
    cells = _CELLS.get(key, cluster.created)
    if columns[0].name == "Last Seen":
        return TableFormat(columns, cells)
    name = NAME if key != ("autoscaling", "Scale") else replace(NAME, format="")
    shown = _named(cells, _NAMES.get(key, _name))
    order = cluster.precedence if key == _FLOW_SCHEMA else None
    return TableFormat((name, *columns), shown, layout == _PLAIN, order)


@cache
def custom_scale_format() -> TableFormat:
    """Return the table format of scales of custom objects, which has types of its own."""
    plain = format_of(("autoscaling", "Scale"))
    _, *middle, age = plain.columns
    return replace(plain, columns=(NAME, *middle, replace(age, type="date")))


def _column(text: str) -> TableColumn:
    text, plus, priority = text.partition("+")
    name, _, kind = text.partition(":")
    form = "name" if "Name" in (name, kind) else ""
    kind = "" if kind == "Name" else kind
    return TableColumn(name, kind or "string", form, int(priority) if plus else 0)


def _name(item: Json) -> str:
    return str(item["metadata"].get("name", ""))


_NAMES: Final[Mapping[tuple[str, str], Callable[[Json], str]]] = {
    ("networking.k8s.io", "IngressClass"): cluster.class_name,
    ("storage.k8s.io", "StorageClass"): cluster.class_name,
}
"""Special formats of the names of some kinds."""


def _named(cells: Cells, name: Callable[[Json], str]) -> Cells:
    """Return cells with the name of the object before them."""
    return lambda item, now: [name(item), *cells(item, now)]
