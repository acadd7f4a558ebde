"""EndpointSlices: one EndpointSlice per Service, with its ready pods."""

from collections.abc import Hashable, Iterable
from typing import Any, Final

from stretto.api.wire.kinds import SERVICE, Kind
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.cluster import LocalCluster
from stretto.workloads.services.selection import (
    is_ready,
    ports_of,
    selected_pods,
    services_of,
    target_of,
)

ENDPOINT_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
MANAGER: Final = "endpointslice-controller.k8s.io"
"""Label value of EndpointSlices of this controller."""
_HEADLESS: Final = "service.kubernetes.io/headless"


class EndpointSliceController:
    """Controller that writes the EndpointSlices of Services."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the Services of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/endpoint-slices"
        self._cluster = cluster
        self._services = cluster.objects(SERVICE)
        self._slices = cluster.objects(ENDPOINT_SLICE)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed Service, or the Services that may select a changed pod."""
        return services_of(self._cluster, change)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Bring the EndpointSlice of one Service up to date."""
        assert isinstance(key, tuple)
        namespace, name = key
        service = self._services.active(key)
        owned = [x for x in self._slices.in_namespace(namespace) if _is_of(x, name)]
        if service is None or not service.spec.get("selector"):
            self._cluster.delete(owned)
            return None
        content = _content(service, list(selected_pods(self._cluster, service)))
        for each in owned:
            change = {
                field: value for field, value in content.items() if each.fields.get(field) != value
            }
            labels = _labels(service)
            if labels != each.labels:
                gone = dict.fromkeys(each.labels.keys() - labels.keys())
                change["metadata"] = {"labels": {**gone, **labels}}
            if change:
                self._cluster.patch(each, change)
        if not owned:
            self._cluster.create(ENDPOINT_SLICE, {**_head(service), **content})
        return None


def _is_of(endpoints: StoredObject, service: str) -> bool:
    """Return whether this controller created an EndpointSlice for a Service."""
    labels = endpoints.labels
    managed = labels.get("endpointslice.kubernetes.io/managed-by") == MANAGER
    return managed and labels.get("kubernetes.io/service-name") == service


def _head(service: StoredObject) -> Fields:
    name = service.record.name
    owner = {
        "apiVersion": "v1",
        "kind": SERVICE.kind,
        "name": name,
        "uid": service.record.uid,
        "controller": True,
    }
    metadata = {
        "generateName": f"{name}-",
        "namespace": service.record.namespace,
        "labels": _labels(service),
        "ownerReferences": [owner],
    }
    return {
        "apiVersion": ENDPOINT_SLICE.api_version,
        "kind": ENDPOINT_SLICE.kind,
        "metadata": metadata,
        "addressType": "IPv4",
    }


def _labels(service: StoredObject) -> Fields:
    """The labels of an EndpointSlice: those of its Service, and the marks of its controller."""
    headless = {_HEADLESS: ""} if service.spec.get("clusterIP") == "None" else {}
    return {
        **service.labels,
        **headless,
        "endpointslice.kubernetes.io/managed-by": MANAGER,
        "kubernetes.io/service-name": service.record.name,
    }


def _content(service: StoredObject, pods: list[StoredObject]) -> dict[str, Any]:
    """Endpoints and ports; pods have no address before they run."""
    return {"endpoints": [_endpoint(pod) for pod in pods], "ports": ports_of(service, pods)}


def _endpoint(pod: StoredObject) -> Fields:
    ready = is_ready(pod)
    return {
        "addresses": [pod.status["podIP"]] if pod.status.get("podIP") else [],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": pod.record.node,
        "targetRef": target_of(pod),
    }
