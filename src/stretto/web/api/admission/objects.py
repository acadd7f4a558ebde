"""Admission of single kinds: classes, volumes, nodes, and the limits of a namespace."""

from typing import Final

from stretto.api.admission import limits, priority, pvcs
from stretto.api.checks.pod import SYSTEM_CLASSES
from stretto.api.wire.kinds import NODE, PERSISTENT_VOLUME_CLAIM, POD, PRIORITY_CLASS, Kind
from stretto.web.api import failures
from stretto.web.api.admission.refusals import Refusals, request_of
from stretto.web.api.admission.view import StorageView
from stretto.web.api.state import AdmittedWrite, ApiState

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_PROTECTION: Final = {
    ("", "PersistentVolumeClaim"): "kubernetes.io/pvc-protection",
    ("", "PersistentVolume"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "VolumeAttributesClass"): "kubernetes.io/vac-protection",
}
"""Finalizers of new objects."""
_INGRESS: Final = ("networking.k8s.io", "Ingress")
_INGRESS_CLASS: Final = Kind(
    "networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False
)
_OLD_CLASS: Final = "kubernetes.io/ingress.class"
_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
_CHARGED: Final = frozenset({POD, PERSISTENT_VOLUME_CLAIM})


def keep_system_classes(_state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse the deletion of system priority classes."""
    name = (admission.old or {}).get("metadata", {}).get("name", "")
    if (
        admission.operation == "DELETE"
        and admission.resource.stored == PRIORITY_CLASS
        and name in SYSTEM_CLASSES
    ):
        text = "this is a system priority class and cannot be deleted"
        raise failures.forbidden(admission.resource.group, "priorityclasses", name, text)


def change_claim(state: ApiState, admission: AdmittedWrite) -> None:
    """Set the default StorageClass of a new PVC."""
    item = admission.item
    if (
        admission.resource.stored == PERSISTENT_VOLUME_CLAIM
        and admission.operation == "CREATE"
        and item is not None
    ):
        with Refusals(admission.call, item):
            pvcs.default_class(request_of(admission), item, StorageView(state.storage))


def default_ingress_class(state: ApiState, admission: AdmittedWrite) -> None:
    """Set the default class of a new Ingress: the newest class that is marked as default."""
    item = admission.item
    if admission.resource.key != _INGRESS or admission.operation != "CREATE" or item is None:
        return
    spec = item.setdefault("spec", {})
    stated = _OLD_CLASS in (item["metadata"].get("annotations") or {})
    if stated or spec.get("ingressClassName") is not None:
        return
    marked = [
        each["metadata"]
        for each in state.storage.items(_INGRESS_CLASS, "")
        if (each["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    marked.sort(key=lambda each: each["name"])
    marked.sort(key=lambda each: each.get("creationTimestamp", ""), reverse=True)
    if marked:
        spec["ingressClassName"] = marked[0]["name"]


def protect(_state: ApiState, admission: AdmittedWrite) -> None:
    """Add finalizers that protect new volumes, PVCs and their classes while they are used."""
    item = admission.item
    finalizer = _PROTECTION.get(admission.resource.key)
    if finalizer is None or admission.operation != "CREATE" or item is None:
        return
    present = item["metadata"].get("finalizers") or []
    if finalizer not in present:
        item["metadata"]["finalizers"] = [*present, finalizer]


def taint_node(_state: ApiState, admission: AdmittedWrite) -> None:
    """Taint a new node as not ready."""
    item = admission.item
    if admission.resource.stored != NODE or admission.operation != "CREATE" or item is None:
        return
    spec = item.setdefault("spec", {})
    taints = spec.get("taints") or []
    if not any(each.get("key") == _NOT_READY for each in taints):
        spec["taints"] = [*taints, {"key": _NOT_READY, "effect": "NoSchedule"}]


def check_class(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a second default PriorityClass."""
    item = admission.item
    if admission.resource.stored == PRIORITY_CLASS and item is not None:
        with Refusals(admission.call, item):
            priority.check_class(request_of(admission), item, StorageView(state.storage))


def check_limits(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a new or resized pod, or a PVC, outside the bounds of its namespace."""
    item, kind = admission.item, admission.resource.stored
    changes_pod = kind == POD and admission.operation == "UPDATE"
    if item is None or kind not in _CHARGED:
        return
    if admission.subresource == ("resize" if changes_pod else ""):
        with Refusals(admission.call, item):
            limits.check_bounds(request_of(admission), item, StorageView(state.storage))
