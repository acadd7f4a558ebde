"""The admission plugins of the server, in the order of kube-apiserver."""

from collections.abc import Callable
from typing import Any, Final

from stretto.api.admission import limits, priority, pvcs, runtime, tolerations
from stretto.api.admission.request import AdmissionRequest, ForbiddenError, Operation
from stretto.api.checks.pod import SYSTEM_CLASSES
from stretto.api.wire.kinds import (
    NAMESPACE,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    PRIORITY_CLASS,
)
from stretto.base.errors import InputError
from stretto.web.api import failures
from stretto.web.api.admission.view import StorageView
from stretto.web.api.call import Call
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_PROTECTION: Final = {
    ("", "PersistentVolumeClaim"): "kubernetes.io/pvc-protection",
    ("", "PersistentVolume"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "VolumeAttributesClass"): "kubernetes.io/vac-protection",
}
"""Finalizers of new objects."""
_IMMORTAL: Final = ("default", "kube-system", "kube-public")
_CHARGED: Final = frozenset({POD, PERSISTENT_VOLUME_CLAIM})


def namespace_exists(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse new objects in a namespace that does not exist or that is being deleted."""
    call, route = admission.call, admission.call.route
    if admission.operation != "CREATE" or not call.resource.kind.namespaced:
        return
    found = state.storage.find(NAMESPACE, "", route.namespace)
    if found is None:
        raise failures.not_found("", "namespaces", route.namespace)
    phase = (found.item.get("status") or {}).get("phase")
    if phase == "Terminating" and not route.subresource:
        name = (admission.item or {})["metadata"].get("name", "")
        text = (
            f"unable to create new content in namespace {route.namespace} because it is being "
            "terminated"
        )
        error = failures.forbidden(call.resource.group, call.resource.resource, name, text)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {route.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        details = {**(error.details or {}), "causes": [cause]}
        raise failures.ApiError(403, "Forbidden", error.message, details)


def keep_namespace(_state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse the deletion of the namespaces of the system."""
    name = admission.call.route.name
    if (
        admission.operation == "DELETE"
        and admission.resource.stored == NAMESPACE
        and name in _IMMORTAL
    ):
        raise failures.forbidden("", "namespaces", name, "this namespace may not be deleted")


def keep_system_classes(_state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse the deletion of the priority classes of the system."""
    name = (admission.old or {}).get("metadata", {}).get("name", "")
    if (
        admission.operation == "DELETE"
        and admission.resource.stored == PRIORITY_CLASS
        and name in SYSTEM_CLASSES
    ):
        text = "this is a system priority class and cannot be deleted"
        raise failures.forbidden(admission.resource.group, "priorityclasses", name, text)


def change_pod(state: ApiState, admission: AdmittedWrite) -> None:
    """Limits, priority, tolerations and runtime class of a new pod."""
    item = admission.item
    if admission.resource.stored != POD or admission.operation != "CREATE" or item is None:
        return
    view, request = StorageView(state.storage), _request(admission)
    spec = item["spec"]
    with _Refusals(admission.call, item):
        limits.default_pod(request, item, view)
        tolerations.add_default_seconds(spec)
        stated = spec.pop("priority", None)
        priority.set_priority(request, item, view)
        if stated not in (None, spec["priority"]):
            raise _stated_priority(admission, stated, spec["priority"])
        runtime.apply_runtime_class(request, item, view)


def _stated_priority(admission: AdmittedWrite, stated: int, computed: int) -> failures.ApiError:
    """403 about a priority that no class gives."""
    text = (
        f"the integer value of priority ({stated}) must not be provided in pod spec; priority "
        f"admission controller computed {computed} from the given PriorityClass name"
    )
    name = (admission.item or {})["metadata"].get("name", "")
    return failures.forbidden("", "pods", name, text)


def change_claim(state: ApiState, admission: AdmittedWrite) -> None:
    """The default StorageClass of a new PVC."""
    item = admission.item
    if (
        admission.resource.stored == PERSISTENT_VOLUME_CLAIM
        and admission.operation == "CREATE"
        and item is not None
    ):
        with _Refusals(admission.call, item):
            pvcs.default_class(_request(admission), item, StorageView(state.storage))


def protect(_state: ApiState, admission: AdmittedWrite) -> None:
    """Protect new volumes, PVCs and their classes from removal while they are used."""
    item = admission.item
    finalizer = _PROTECTION.get(admission.resource.key)
    if finalizer is None or admission.operation != "CREATE" or item is None:
        return
    present = item["metadata"].get("finalizers") or []
    if finalizer not in present:
        item["metadata"]["finalizers"] = [*present, finalizer]


def taint_node(_state: ApiState, admission: AdmittedWrite) -> None:
    """Taint a new node until it is ready."""
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
        with _Refusals(admission.call, item):
            priority.check_class(_request(admission), item, StorageView(state.storage))


def check_limits(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a pod or a PVC outside the bounds of its namespace."""
    item = admission.item
    if admission.resource.stored in _CHARGED and item is not None and not admission.subresource:
        if admission.operation == "UPDATE" and admission.resource.stored == POD:
            return
        with _Refusals(admission.call, item):
            limits.check_bounds(_request(admission), item, StorageView(state.storage))


def _request(admission: AdmittedWrite) -> AdmissionRequest:
    operation = Operation.CREATE if admission.operation == "CREATE" else Operation.UPDATE
    item = admission.item or {}
    return AdmissionRequest(
        admission.resource.stored, item, operation, admission.call.route.namespace
    )


class _Refusals:
    """Turns refusals of admission into failures of the API."""

    def __init__(self, call: Call, item: Json) -> None:
        self._call = call
        self._name = item["metadata"].get("name", "")

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        resource = self._call.resource
        if isinstance(error, ForbiddenError):
            text = str(error.args[1])
            raise failures.forbidden(resource.group, resource.resource, self._name, text) from error
        if isinstance(error, InputError):
            raise failures.forbidden(
                resource.group, resource.resource, self._name, str(error)
            ) from error


MUTATING: Final[tuple[Callable[[ApiState, AdmittedWrite], None], ...]] = (
    namespace_exists,
    keep_namespace,
    keep_system_classes,
    change_pod,
    change_claim,
    protect,
    taint_node,
)
"""Admission that changes objects."""
VALIDATING: Final[tuple[Callable[[ApiState, AdmittedWrite], None], ...]] = (
    check_class,
    check_limits,
)
"""Admission that only refuses."""
