"""Endpoints: the ready pods of a Service, in the older form of EndpointSlices."""

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

ENDPOINTS: Final = Kind("", "v1", "Endpoints", "endpoints")
_MANAGED: Final = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_HEADLESS: Final = "service.kubernetes.io/headless"


class EndpointsController:
    """Controller that writes the Endpoints of Services."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Control the Services of a cluster."""
        #: Name in logs and messages.
        self.name = f"{cluster.name}/endpoints"
        self._cluster = cluster
        self._services = cluster.objects(SERVICE)
        self._found = cluster.objects(ENDPOINTS)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed Service, or the Services that may select a changed pod."""
        return services_of(self._cluster, change)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Bring the Endpoints of one Service up to date."""
        assert isinstance(key, tuple)
        service, present = self._services.active(key), self._found.get(*key)
        own = present is not None and _MANAGED.items() <= dict(present.labels).items()
        if service is None or not service.spec.get("selector"):
            if present is not None and own:
                self._cluster.delete([present])
            return None
        subsets = _subsets(service, list(selected_pods(self._cluster, service)))
        if present is None:
            name, namespace = service.record.name, service.record.namespace
            metadata = {"name": name, "namespace": namespace, "labels": _labels(service)}
            self._cluster.create(ENDPOINTS, {"metadata": metadata, "subsets": subsets})
        elif (present.fields.get("subsets") or []) != subsets:
            self._cluster.patch(present, {"subsets": subsets})
        return None


def _labels(service: StoredObject) -> dict[str, str]:
    headless = {_HEADLESS: ""} if service.spec.get("clusterIP") == "None" else {}
    return {**service.labels, **_MANAGED, **headless}


def _subsets(service: StoredObject, pods: list[StoredObject]) -> list[Fields]:
    """One subset with ready and not ready addresses; none without pods that have an address."""
    ordered = sorted(
        (pod for pod in pods if pod.status.get("podIP")), key=lambda pod: str(pod.status["podIP"])
    )
    if not ordered:
        return []
    subset: dict[str, Any] = {}
    for name, ready in (("addresses", True), ("notReadyAddresses", False)):
        found = [_address(pod) for pod in ordered if is_ready(pod) is ready]
        if found:
            subset[name] = found
    ports = [
        {key: each for key, each in port.items() if each != ""}
        for port in ports_of(service, ordered)
    ]
    return [{**subset, "ports": ports} if ports else subset]


def _address(pod: StoredObject) -> Fields:
    return {"ip": pod.status["podIP"], "nodeName": pod.record.node, "targetRef": target_of(pod)}
