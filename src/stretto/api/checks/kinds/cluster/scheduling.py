"""Rules of PriorityClasses, RuntimeClasses and Leases."""

from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    first_errors,
    forbidden,
    immutable,
    invalid,
    required,
)
from stretto.api.checks.fields.shapes import moved, text
from stretto.api.checks.fields.texts import dns_label
from stretto.api.checks.kinds.pods.placement import check_node_selector_labels, check_tolerations
from stretto.api.checks.kinds.resources import check_resources
from stretto.api.checks.kinds.values import (
    PREEMPTION_POLICIES,
    Json,
    not_negative,
    one_of,
    unchanged,
)

_MAX_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = ("system-node-critical", "system-cluster-critical")


def check_priority_class(item: Json, old: Json | None) -> Errors:
    """Check a PriorityClass."""
    name, value = item["metadata"].get("name", ""), item.get("value") or 0
    if old is not None:
        found: Errors = []
        if value != (old.get("value") or 0):
            found.append(forbidden("value", "may not be changed in an update."))
        return found + unchanged(item, old, ("preemptionPolicy",))
    found = []
    if name.startswith("system-") and name not in _SYSTEM:
        detail = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        found.append(forbidden("metadata.name", detail))
    elif value > _MAX_PRIORITY and name not in _SYSTEM:
        detail = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
        found.append(forbidden("value", detail))
    policy = item.get("preemptionPolicy")
    if policy:
        found += one_of(policy, "preemptionPolicy", PREEMPTION_POLICIES)
    elif policy is not None:
        found.append(required("preemptionPolicy"))
    return found


def check_runtime_class(item: Json, old: Json | None) -> Errors:
    """Check a RuntimeClass."""
    handler = item.get("handler", "")
    if not handler:
        return [required("handler")]
    found = text(dns_label)(handler, "handler")
    fixed = (item.get("overhead") or {}).get("podFixed")
    if fixed:
        errors = first_errors(check_resources({"limits": fixed}, "overhead"))
        found += [moved(each, "") for each in errors]
    scheduling = item.get("scheduling") or {}
    path = "scheduling"
    found += check_node_selector_labels(scheduling.get("nodeSelector"), f"{path}.nodeSelector")
    found += check_tolerations(scheduling.get("tolerations") or [], f"{path}.tolerations")
    if old is not None and handler != old.get("handler"):
        found.append(immutable("handler", handler))
    return found


def check_lease(item: Json, _old: Json | None) -> Errors:
    """Check a Lease."""
    spec = item.get("spec") or {}
    found: Errors = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if spec.get("leaseTransitions") is not None:
        found += not_negative(spec["leaseTransitions"], "spec.leaseTransitions")
    return found
