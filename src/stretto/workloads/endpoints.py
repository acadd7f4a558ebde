"""The endpoints of Services: one EndpointSlice with the ready pods that a Service selects."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

from stretto.api.wire.kinds import POD, Kind
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.workloads.cluster import ENDED, LocalCluster

SERVICE: Final = Kind("", "v1", "Service", "services")
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
MANAGER: Final = "endpointslice-controller.k8s.io"
"""Value of the label that names the controller of an EndpointSlice."""
_SUFFIX: Final = 5
"""Characters of the uid of a Service that its EndpointSlice's name ends with."""


class EndpointController:
    """From Services and pods to EndpointSlices."""

    def __init__(self, cluster: LocalCluster) -> None:
        """For the Services of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/endpoints"
        self._cluster = cluster
        self._services = cluster.objects(SERVICE)
        self._slices = cluster.objects(ENDPOINT_SLICE)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The Service, or those that may select a pod."""
        if change.source != self._cluster.name:
            return
        if change.kind == SERVICE:
            yield change.object.name
        elif change.kind == POD:
            for each in self._services.in_namespace(change.object.record.namespace):
                yield each.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Bring the EndpointSlice of one Service up to date."""
        assert isinstance(key, tuple)
        namespace, name = key
        service = self._services.get(namespace, name)
        owned = [x for x in self._slices.in_namespace(namespace) if _is_of(x, name)]
        if service is None or service.is_terminating or not service.spec.get("selector"):
            self._cluster.delete(owned)
            return None
        content = _content(service, self._selected(service))
        for each in owned:
            if any(each.fields.get(field) != value for field, value in content.items()):
                self._cluster.patch(each, content)
        if not owned:
            self._cluster.create(ENDPOINT_SLICE, {**_head(service), **content})
        return None

    def _selected(self, service: StoredObject) -> Iterator[StoredObject]:
        """The pods that a Service selects, by name."""
        wanted = dict(service.spec["selector"]).items()
        pods = self._cluster.objects(POD).in_namespace(service.record.namespace)
        for pod in sorted(pods, key=lambda each: each.record.name):
            ends = pod.is_terminating or pod.status.get("phase") in ENDED
            if wanted <= dict(pod.labels).items() and not ends and pod.record.node:
                yield pod


def _is_of(endpoints: StoredObject, service: str) -> bool:
    """Whether this controller has made an EndpointSlice for a Service."""
    labels = endpoints.labels
    managed = labels.get("endpointslice.kubernetes.io/managed-by") == MANAGER
    return managed and labels.get("kubernetes.io/service-name") == service


def _head(service: StoredObject) -> Fields:
    name = service.record.name
    suffix = "".join(filter(str.isalnum, service.record.uid))[-_SUFFIX:]
    labels = {
        "endpointslice.kubernetes.io/managed-by": MANAGER,
        "kubernetes.io/service-name": name,
    }
    owner = {
        "apiVersion": "v1",
        "kind": SERVICE.kind,
        "name": name,
        "uid": service.record.uid,
        "controller": True,
    }
    metadata = {
        "name": f"{name}-{suffix}",
        "namespace": service.record.namespace,
        "labels": labels,
        "ownerReferences": [owner],
    }
    return {
        "apiVersion": ENDPOINT_SLICE.api_version,
        "kind": ENDPOINT_SLICE.kind,
        "metadata": metadata,
        "addressType": "IPv4",
    }


def _content(service: StoredObject, pods: Iterable[StoredObject]) -> dict[str, Any]:
    """Endpoints and ports; pods have no addresses before they run."""
    ports = [
        {
            "name": port.get("name", ""),
            "protocol": port.get("protocol", "TCP"),
            "port": port.get("targetPort") or port["port"],
        }
        for port in service.spec.get("ports") or ()
    ]
    return {"endpoints": [_endpoint(pod) for pod in pods], "ports": ports}


def _endpoint(pod: StoredObject) -> Fields:
    conditions = pod.status.get("conditions") or ()
    ready = any(x["type"] == "Ready" and x["status"] == "True" for x in conditions)
    return {
        "addresses": [pod.status["podIP"]] if pod.status.get("podIP") else [],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": pod.record.node,
        "targetRef": {
            "kind": "Pod",
            "namespace": pod.record.namespace,
            "name": pod.record.name,
            "uid": pod.record.uid,
        },
    }
