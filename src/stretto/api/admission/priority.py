"""Priority of pods from PriorityClasses, as the Priority plugin of the API server sets it."""

from typing import Final

from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView, forbidden
from stretto.api.checks.pod import SYSTEM_CLASSES
from stretto.api.wire.kinds import PRIORITY_CLASS

_DEFAULT_POLICY: Final = "PreemptLowerPriority"


def system_class(name: str) -> JsonObject:
    """A built-in PriorityClass as an object."""
    return {
        "apiVersion": PRIORITY_CLASS.api_version,
        "kind": PRIORITY_CLASS.kind,
        "metadata": {"name": name},
        "value": SYSTEM_CLASSES[name],
        "preemptionPolicy": _DEFAULT_POLICY,
    }


def set_priority(request: AdmissionRequest, pod: JsonObject, view: ObjectView) -> None:
    """Copy name, value and preemption policy of a pod's class, or of the default class.

    A pod with a priority and no class keeps its priority, unless a class is the global default:
    pods in scenarios have priorities without classes.

    Raises:
        ForbiddenError: the class does not exist, or the pod contradicts it.
    """
    spec = pod["spec"]
    name, stated = spec.get("priorityClassName") or "", spec.get("priority")
    found = _class(request, name, view) if name else _global_default(view)
    if found is None:
        if stated is None:
            spec["priority"] = 0
        spec.setdefault("preemptionPolicy", _DEFAULT_POLICY)
        return
    value = int(found.get("value") or 0)
    if stated is not None and stated != value:
        reason = (
            f"the integer value of priority ({stated}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise forbidden(request, reason, "remove spec.priority", "spec.priority")
    policy = found.get("preemptionPolicy") or _DEFAULT_POLICY
    own = spec.get("preemptionPolicy")
    if own is not None and own != policy:
        reason = (
            f"the string value of PreemptionPolicy ({own}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise forbidden(request, reason, "remove it", "spec.preemptionPolicy")
    spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"], spec["preemptionPolicy"] = value, policy


def check_class(request: AdmissionRequest, item: JsonObject, view: ObjectView) -> None:
    """Default the preemption policy of a PriorityClass; refuse a second global default.

    Raises:
        ForbiddenError: another class is the global default.
    """
    item.setdefault("preemptionPolicy", _DEFAULT_POLICY)
    if not item.get("globalDefault"):
        return
    name = item["metadata"].get("name")
    for other in view.list(PRIORITY_CLASS):
        if other.get("globalDefault") and other["metadata"].get("name") != name:
            reason = (
                f"PriorityClass {other['metadata']['name']} is already marked as default. "
                "Only one default can exist"
            )
            raise forbidden(request, reason, "remove globalDefault from one", "globalDefault")


def _class(request: AdmissionRequest, name: str, view: ObjectView) -> JsonObject:
    """Return the class with this name."""
    found = view.get(PRIORITY_CLASS, "", name)
    if found is None and name in SYSTEM_CLASSES:
        found = system_class(name)
    if found is None:
        others = {each["metadata"]["name"] for each in view.list(PRIORITY_CLASS)}
        known = sorted({*SYSTEM_CLASSES, *others})
        hint = f"create the class, or use one of {', '.join(known)}"
        reason = f"no PriorityClass with name {name} was found"
        raise forbidden(request, reason, hint, "spec.priorityClassName")
    return found


def _global_default(view: ObjectView) -> JsonObject | None:
    """The class with the lowest value among the classes marked as the default."""
    found = [each for each in view.list(PRIORITY_CLASS) if each.get("globalDefault")]
    return min(found, key=lambda each: int(each.get("value") or 0), default=None)
