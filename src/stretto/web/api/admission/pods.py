"""Admission of pods: limits, priority, tolerations, runtime class."""

from typing import Any, Final

from stretto.api.admission import limits, priority, runtime, tolerations
from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.fields.texts import path_segment
from stretto.api.wire.kinds import POD
from stretto.web.api import failures
from stretto.web.api.admission.refusals import Refusals, request_of
from stretto.web.api.admission.view import StorageView
from stretto.web.api.state import AdmittedWrite, ApiState


def change_pod(state: ApiState, admission: AdmittedWrite) -> None:
    """Default limits, priority, tolerations and runtime class of a pod.

    A changed pod keeps its priority and gets the default tolerations.
    """
    item = admission.item
    if admission.resource.stored != POD or item is None or admission.subresource:
        return
    if admission.operation == "UPDATE":
        tolerations.add_default_seconds(item["spec"])
        _keep_priority(item["spec"], (admission.old or {}).get("spec") or {})
    if admission.operation != "CREATE":
        return
    view, request = StorageView(state.storage), request_of(admission)
    spec = item["spec"]
    with Refusals(admission.call, item):
        limits.default_pod(request, item, view)
        tolerations.add_default_seconds(spec)
        stated = {name: spec.pop(name, None) for name in ("priority", "preemptionPolicy")}
        priority.set_priority(request, item, view)
        for name, value in stated.items():
            if value not in (None, spec[name]):
                raise _stated_priority(admission, name, (value, spec[name]))
        _check_runtime(spec.get("runtimeClassName") or "")
        runtime.apply_runtime_class(request, item, view)


def _check_runtime(name: str) -> None:
    """Refuse the name of a RuntimeClass that is not valid in a path, as kube-apiserver's client."""
    problems = path_segment(name)
    if problems:
        text = f"invalid resource name {quoted(name)}: [{' '.join(problems)}]"
        raise failures.internal(text)


def _keep_priority(spec: dict[str, Any], before: dict[str, Any]) -> None:
    """Copy the priority of the stored pod to a change that omits it."""
    for name in _STATED:
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]


def check_pod(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a new pod with an overhead that no RuntimeClass states."""
    item = admission.item
    if admission.resource.stored == POD and admission.operation == "CREATE" and item is not None:
        with Refusals(admission.call, item):
            runtime.check_overhead(request_of(admission), item, StorageView(state.storage))


_STATED: Final = {
    "priority": "the integer value of priority",
    "preemptionPolicy": "the string value of PreemptionPolicy",
}


def _stated_priority(
    admission: AdmittedWrite, word: str, values: tuple[Any, Any]
) -> failures.ApiError:
    """Return the 403 about a priority or a preemption policy that does not come from a class."""
    text = (
        f"{_STATED[word]} ({values[0]}) must not be provided in pod spec; priority admission "
        f"controller computed {values[1]} from the given PriorityClass name"
    )
    name = (admission.item or {})["metadata"].get("name", "")
    return failures.forbidden("", "pods", name, text)
