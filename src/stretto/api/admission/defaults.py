"""Defaults that depend on an object alone."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.api.admission import limits, pvcs
from stretto.api.admission.request import JsonObject
from stretto.api.admission.resources import containers_of
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind

_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def default_pod_spec(spec: JsonObject) -> None:
    """Set the common defaults of a pod and a pod template."""
    for name, value in (
        ("dnsPolicy", "ClusterFirst"),
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("enableServiceLinks", True),
    ):
        if spec.get(name) is None or spec[name] == "":
            spec[name] = value
    default_account(spec)
    for each in spec.get("topologySpreadConstraints") or ():
        each.setdefault("whenUnsatisfiable", "DoNotSchedule")
    for container in containers_of(spec):
        for port in container.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_account(spec: JsonObject) -> None:
    """Set the service account of a pod."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account


def default_host_ports(spec: JsonObject) -> None:
    """Set ``hostPort`` of every container port of a pod with ``hostNetwork``."""
    for container in containers_of(spec):
        for port in container.get("ports") or ():
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def _default_node(node: JsonObject) -> None:
    """Default the allocatable amounts from the capacity."""
    status = node.setdefault("status", {})
    if not status.get("allocatable") and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _default_namespace(item: JsonObject) -> None:
    """Default the label with the namespace's own name, and the active phase."""
    meta = item["metadata"]
    if meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), _NAME_LABEL: meta["name"]}
    item.setdefault("status", {}).setdefault("phase", "Active")


def _default_claim(item: JsonObject) -> None:
    """Default the mode and the phase of a PVC."""
    item.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    item.setdefault("status", {}).setdefault("phase", "Pending")


def _default_volume(item: JsonObject) -> None:
    """Default the reclaim policy and the mode of a PersistentVolume."""
    spec = item.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")


DEFAULTS: Final[Mapping[Kind, Callable[[JsonObject], None]]] = {
    kinds.NODE: _default_node,
    kinds.NAMESPACE: _default_namespace,
    kinds.PERSISTENT_VOLUME_CLAIM: _default_claim,
    kinds.PERSISTENT_VOLUME: _default_volume,
    kinds.STORAGE_CLASS: pvcs.default_storage_class,
    kinds.LIMIT_RANGE: limits.default_items,
}
"""Defaults that depend on the object alone."""
