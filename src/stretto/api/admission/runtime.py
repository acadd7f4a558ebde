"""RuntimeClasses: overhead, node selector and tolerations of their pods."""

from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView, forbidden
from stretto.api.admission.tolerations import merged
from stretto.api.wire.kinds import RUNTIME_CLASS
from stretto.api.wire.quantity import nano


def apply_runtime_class(request: AdmissionRequest, pod: JsonObject, view: ObjectView) -> None:
    """Copy overhead and scheduling of the RuntimeClass of a pod.

    Raises:
        ForbiddenError: the class does not exist, or the pod contradicts it.
    """
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if name is None:
        return
    found = view.get(RUNTIME_CLASS, "", name)
    if found is None:
        reason = f'pod rejected: RuntimeClass "{name}" not found'
        raise forbidden(request, reason, "create the class", "spec.runtimeClassName")
    fixed = (found.get("overhead") or {}).get("podFixed") or {}
    if fixed and not spec.get("overhead"):
        spec["overhead"] = dict(fixed)
    if fixed and _exact(spec["overhead"]) != _exact(fixed):
        reason = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise forbidden(request, reason, "remove spec.overhead", "spec.overhead")
    scheduling = found.get("scheduling") or {}
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.setdefault(key, value) != value:
            reason = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
            raise forbidden(request, reason, "remove the label", f"spec.nodeSelector.{key}")
    if selector:
        spec["nodeSelector"] = selector
    if scheduling.get("tolerations"):
        spec["tolerations"] = merged(spec.get("tolerations") or [], scheduling["tolerations"])


def check_overhead(request: AdmissionRequest, pod: JsonObject, view: ObjectView) -> None:
    """Refuse an overhead that no RuntimeClass states.

    Raises:
        ForbiddenError: the pod has such an overhead.
    """
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    found = (view.get(RUNTIME_CLASS, "", name) if name is not None else None) or {}
    if spec.get("overhead") and not (found.get("overhead") or {}).get("podFixed"):
        reason = (
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        )
        raise forbidden(request, reason, "remove spec.overhead", "spec.overhead")


def _exact(amounts: JsonObject) -> dict[str, int]:
    """A resource list in billionths."""
    return {name: nano(each, f"overhead.{name}") for name, each in amounts.items()}
