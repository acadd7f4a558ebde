"""Admission by namespaces: new objects need one, and system namespaces cannot be deleted."""

from collections.abc import Mapping
from typing import Final

from stretto.api.wire.kinds import NAMESPACE
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.state import AdmittedWrite, ApiState

_IMMORTAL: Final = ("default", "kube-system", "kube-public")


def namespace_labels(state: ApiState, call: Call) -> Mapping[str, str]:
    """Return the labels of the namespace of a call; none if it does not exist."""
    found = state.storage.view(NAMESPACE, "", call.route.namespace)
    return (found["metadata"].get("labels") if found is not None else None) or {}


def namespace_exists(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse new objects in a namespace that does not exist or is being deleted."""
    call, route = admission.call, admission.call.route
    if admission.operation != "CREATE" or not call.resource.kind.namespaced:
        return
    found = state.storage.view(NAMESPACE, "", route.namespace)
    if found is None:
        raise failures.not_found("", "namespaces", route.namespace)
    phase = (found.get("status") or {}).get("phase")
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
    """Refuse the deletion of system namespaces."""
    name = admission.call.route.name
    if (
        admission.operation == "DELETE"
        and admission.resource.stored == NAMESPACE
        and name in _IMMORTAL
    ):
        raise failures.forbidden("", "namespaces", name, "this namespace may not be deleted")
