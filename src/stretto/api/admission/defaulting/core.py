"""Defaults of services, volumes, secrets, nodes and other core kinds."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.pod import default

Json = dict[str, Any]

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_STICKY_SECONDS: Final = 10_800


def _service_spec(spec: Json) -> None:
    default(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", _STICKY_SECONDS)
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    has_addresses = spec["type"] == "ClusterIP" and spec.get("externalIPs")
    if spec["type"] in ("NodePort", "LoadBalancer") or has_addresses:
        default(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        default(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in spec.get("ports") or ():
        default(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)


def _service(item: Json) -> None:
    """Default how the load balancer of a Service delivers traffic."""
    if (item.get("spec") or {}).get("type") != "LoadBalancer":
        return
    for point in ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
        if point.get("ip"):
            default(point, ipMode="VIP")


def _endpoint_port(port: Json) -> None:
    default(port, protocol="TCP")


def _volume(item: Json) -> None:
    spec = item.setdefault("spec", {})
    default(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    default(item.setdefault("status", {}), phase="Pending")


def _claim(spec: Json) -> None:
    default(spec, volumeMode="Filesystem")


def _secret(item: Json) -> None:
    default(item, type="Opaque")
    texts = item.pop("stringData", None)
    if texts:
        item["data"] = {**(item.get("data") or {}), **{k: _base64(v) for k, v in texts.items()}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _namespace(item: Json) -> None:
    name = item["metadata"].get("name")
    if name:
        labels = item["metadata"].get("labels") or {}
        item["metadata"]["labels"] = {**labels, _NAME_LABEL: name}


def _node_spec(spec: Json) -> None:
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]


def _pod_status(status: Json) -> None:
    """Set both forms of the address of a pod to the same value; the single one takes precedence."""
    single, listed = status.get("podIP"), status.get("podIPs")
    if single and (not listed or listed[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif listed and listed[0].get("ip"):
        status["podIP"] = listed[0]["ip"]
    if status.get("hostIP") and not status.get("hostIPs"):
        status["hostIPs"] = [{"ip": status["hostIP"]}]


def _node_status(status: Json) -> None:
    if not status.get("allocatable") and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _limit_item(item: Json) -> None:
    """Default the amounts of a LimitRange for containers from its bounds."""
    if item.get("type") != "Container":
        return
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


def _controller(item: Json) -> None:
    spec = item.setdefault("spec", {})
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not item["metadata"].get("labels"):
            item["metadata"]["labels"] = dict(labels)
    default(spec, replicas=1)


def _whole_claim(item: Json) -> None:
    """Default a PVC, or a PVC template of a StatefulSet."""
    default(item.setdefault("status", {}), phase="Pending")


def _namespace_status(status: Json) -> None:
    default(status, phase="Active")


CORE: Final[Mapping[str, Callable[[Json], None]]] = {
    "core/v1.Service": _service,
    "core/v1.ServiceSpec": _service_spec,
    "core/v1.EndpointPort": _endpoint_port,
    "core/v1.PersistentVolume": _volume,
    "core/v1.PersistentVolumeClaim": _whole_claim,
    "core/v1.PersistentVolumeClaimSpec": _claim,
    "core/v1.Secret": _secret,
    "core/v1.Namespace": _namespace,
    "core/v1.NamespaceStatus": _namespace_status,
    "core/v1.NodeSpec": _node_spec,
    "core/v1.NodeStatus": _node_status,
    "core/v1.PodStatus": _pod_status,
    "core/v1.LimitRangeItem": _limit_item,
    "core/v1.ReplicationController": _controller,
}
"""Defaults by struct."""
