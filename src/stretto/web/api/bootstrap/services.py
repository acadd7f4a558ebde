"""The Service of the API itself, its network and its settings."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.edit.apply.managers import (
    ManagerKey,
    WriteFrame,
    encode_managers,
    managed_apply,
    managers_of,
)
from stretto.api.wire.kinds import CONFIG_MAP, Kind
from stretto.web.api.state import ApiState

Json = dict[str, Any]

ADDRESS: Final = "192.0.2.1"
"""Address in the Endpoints of the API; simulated pods do not connect to it."""
PORT: Final = 6443
"""Port in the Endpoints of the API."""
_NAME: Final = "kubernetes"
_NETWORK: Final = "10.0.0.0/24"
_NETWORK_WRITER: Final = "kubernetes-service-cidr-controller"
_FIRST: Final = "10.0.0.1"
_PREFIX: Final = "ipaddress.kubernetes.io/"
_MAPS: Final = ("", "v1", "configmaps")
_SYSTEM: Final = "kube-system"
_AUTHENTICATION: Final = "extension-apiserver-authentication"


def api_objects(
    now: str, authentication: Mapping[str, str]
) -> list[tuple[tuple[str, str, str], Json]]:
    """Objects that describe the server to its clients, each with group, version and plural.

    Args:
        now: RFC 3339 time.
        authentication: how other servers authenticate clients.
    """
    metadata, day = {"name": _NAME, "namespace": "default"}, now[:10]
    return [
        (("networking.k8s.io", "v1", "servicecidrs"), _service_network()),
        (("", "v1", "services"), _service(metadata)),
        (("networking.k8s.io", "v1", "ipaddresses"), _address()),
        (("", "v1", "endpoints"), _endpoints(metadata)),
        (("discovery.k8s.io", "v1", "endpointslices"), _slice(metadata)),
        (_MAPS, _settings(_AUTHENTICATION, authentication)),
        (_MAPS, _settings("kube-apiserver-legacy-service-account-token-tracking", {"since": day})),
    ]


def _settings(name: str, data: Mapping[str, str]) -> Json:
    return {"metadata": {"name": name, "namespace": _SYSTEM}, "data": dict(data)}


def _service_network() -> Json:
    return {"metadata": {"name": _NAME}, "spec": {"cidrs": [_NETWORK]}}


def settle_authentication(state: ApiState, authentication: Mapping[str, str]) -> None:
    """Replace the settings of an earlier start with other keys."""
    resource = state.resources.find(*_MAPS)
    found = state.storage.find(CONFIG_MAP, _SYSTEM, _AUTHENTICATION)
    if resource is None or found is None or found.item.get("data", {}) == authentication:
        return
    state.storage.replace(resource, found.record, {**found.item, "data": dict(authentication)})


def settle_network(state: ApiState) -> None:
    """Write to the status of the Service network that it is ready."""
    kind = Kind("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", namespaced=False)
    resource = state.resources.find(kind.group, kind.version, kind.plural)
    found = state.storage.find(kind, "", _NAME)
    if resource is None or found is None or (found.item.get("status") or {}).get("conditions"):
        return
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": state.now,
        "message": "Kubernetes default Service CIDR is ready",
    }
    applied = {"status": {"conditions": [condition]}}
    key = ManagerKey(_NETWORK_WRITER, "Apply", kind.api_version, "status")
    frame = WriteFrame(resource.struct, key, state.now, {"f:spec": {}})
    _, owners = managed_apply(found.item, applied, managers_of(found.item), frame, force=False)
    metadata = {**found.item["metadata"], "managedFields": encode_managers(owners)}
    status = {"conditions": [{**condition, "reason": ""}]}
    state.storage.replace(
        resource, found.record, {**found.item, "metadata": metadata, "status": status}
    )


def _service(metadata: Json) -> Json:
    port = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": PORT}
    labels = {"component": "apiserver", "provider": _NAME}
    return {
        "metadata": {**metadata, "labels": labels},
        "spec": {
            "clusterIP": _FIRST,
            "ipFamilyPolicy": "SingleStack",
            "ports": [port],
            "type": "ClusterIP",
            "sessionAffinity": "None",
        },
    }


def _address() -> Json:
    labels = {f"{_PREFIX}ip-family": "IPv4", f"{_PREFIX}managed-by": "ipallocator.k8s.io"}
    parent = {"resource": "services", "namespace": "default", "name": _NAME}
    return {"metadata": {"name": _FIRST, "labels": labels}, "spec": {"parentRef": parent}}


def _endpoints(metadata: Json) -> Json:
    port = {"name": "https", "port": PORT, "protocol": "TCP"}
    return {
        "metadata": {**metadata, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": [port]}],
    }


def _slice(metadata: Json) -> Json:
    return {
        "metadata": {**metadata, "labels": {"kubernetes.io/service-name": _NAME}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
    }
