"""Administrative access to devices that other claims use: only in namespaces with a label."""

from collections.abc import Sequence
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, forbidden
from stretto.web.api.admission.namespaces import namespace_labels
from stretto.web.api.call import Call
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_LABEL: Final = "resource.kubernetes.io/admin-access"
_CLAIM: Final = ("resource.k8s.io", "ResourceClaim")
_TEMPLATE: Final = ("resource.k8s.io", "ResourceClaimTemplate")


def admin_access_errors(state: ApiState, call: Call, item: Json, old: Json | None) -> Errors:
    """Return the refused administrative access of a new claim or template, or of an allocation.

    The namespace of the object allows it by a label. A spec does not change, and an allocation
    that has the access keeps it.
    """
    if call.resource.key not in (_CLAIM, _TEMPLATE):
        return []
    path = _requested(call, item, old)
    if not path:
        return []
    if namespace_labels(state, call).get(_LABEL) == "true":
        return []
    needed = f"the `{_LABEL}: true` label on the containing namespace"
    return [forbidden(path, f"admin access to devices requires {needed}")]


def _requested(call: Call, item: Json, old: Json | None) -> str:
    """Return the path of the first new administrative access; empty without one."""
    if call.route.subresource == "status":
        before = _granted(_results(old or {}))
        at = _granted(_results(item))
        return f"status.allocation.devices.results[{at}].adminAccess" if before < 0 <= at else ""
    if old is not None:
        return ""
    spec = item.get("spec") or {}
    spec = (spec.get("spec") or {}) if call.resource.key == _TEMPLATE else spec
    requests = (spec.get("devices") or {}).get("requests") or ()
    at = _granted([each.get("exactly") or {} for each in requests])
    return f"spec.devices.requests[{at}].adminAccess" if at >= 0 else ""


def _results(item: Json) -> Sequence[Json]:
    allocation = (item.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or ()


def _granted(parts: Sequence[Json]) -> int:
    """Return the index of the first part with administrative access; -1 without one."""
    return next((at for at, each in enumerate(parts) if each.get("adminAccess")), -1)
