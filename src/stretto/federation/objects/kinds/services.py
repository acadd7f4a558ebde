"""Services over clusters: imported EndpointSlices on the host, and the Service of an import."""

from collections.abc import Mapping
from typing import Final

from stretto.federation import names
from stretto.reconcile.cache import Fields, StoredObject

EXPORT: Final = ("multicluster.x-k8s.io", "ServiceExport")
IMPORT: Final = ("multicluster.x-k8s.io", "ServiceImport")
SLICE: Final = ("discovery.k8s.io", "EndpointSlice")
SERVICE: Final = ("", "Service")
"""Groups and kinds."""
SERVICE_NAME: Final = "kubernetes.io/service-name"
"""Label of an EndpointSlice with the name of its Service."""
_CONTENT: Final = ("addressType", "endpoints", "ports")
"""Fields of an EndpointSlice except its metadata."""


def service_of(endpoints: StoredObject) -> str:
    """Service of an EndpointSlice that its own cluster has created; empty for imported slices."""
    if names.SOURCE_CLUSTER in endpoints.labels:
        return ""
    return endpoints.labels.get(SERVICE_NAME, "")


def imported_name(cluster: str, endpoints: StoredObject) -> str:
    """The name that an EndpointSlice of a cluster has on the host."""
    return f"imported-{cluster}-{endpoints.record.name}"


def imported(cluster: str, endpoints: StoredObject) -> Fields:
    """The copy of a cluster's EndpointSlice for the host."""
    labels = {names.SOURCE_CLUSTER: cluster, SERVICE_NAME: endpoints.labels[SERVICE_NAME]}
    metadata = {
        "name": imported_name(cluster, endpoints),
        "namespace": endpoints.record.namespace,
        "labels": labels,
    }
    fields = ("apiVersion", "kind", *_CONTENT)
    made: Fields = {key: endpoints.fields[key] for key in fields if key in endpoints.fields}
    return {**made, "metadata": metadata}


def is_imported_from(wanted: Fields, present: StoredObject) -> bool:
    """True if an EndpointSlice on the host has the same content as in its cluster."""
    same = all(wanted.get(key) == present.fields.get(key) for key in _CONTENT)
    return same and wanted["metadata"]["labels"].items() <= present.labels.items()


def derived_name(service: str) -> str:
    """The name of the Service of an import, as used for its federated object."""
    return f"derived-{service}"


def derived(service: StoredObject) -> Fields:
    """The template of the Service of an import in its clusters."""
    template: Mapping[str, Fields] = service.spec["template"]
    metadata, spec = template["metadata"], template.get("spec") or {}
    ports = [
        {key: port[key] for key in ("name", "protocol", "port", "appProtocol") if key in port}
        for port in spec.get("ports") or ()
    ]
    made: Fields = {"type": "ClusterIP", "ports": ports}
    if spec.get("type") == "Headless":
        made["clusterIP"] = "None"
    if spec.get("sessionAffinity"):
        made["sessionAffinity"] = spec["sessionAffinity"]
    marks = {names.DERIVED_SERVICE: metadata["name"]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": metadata["name"],
            "namespace": service.record.namespace,
            "annotations": marks,
        },
        "spec": made,
    }


def is_derived(item: StoredObject) -> bool:
    """True if a Service or its federated object was created for an import."""
    return names.DERIVED_SERVICE in item.annotations
