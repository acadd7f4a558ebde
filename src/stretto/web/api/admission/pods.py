"""Admission of pods: limits, priority, tolerations, runtime class."""

from typing import Any

from stretto.api.admission import limits, priority, runtime, tolerations
from stretto.api.wire.kinds import POD
from stretto.web.api import failures
from stretto.web.api.admission.refusals import Refusals, request_of
from stretto.web.api.admission.view import StorageView
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]


def change_pod(state: ApiState, admission: AdmittedWrite) -> None:
    """Limits, priority, tolerations and runtime class of a new pod."""
    item = admission.item
    if admission.resource.stored != POD or admission.operation != "CREATE" or item is None:
        return
    view, request = StorageView(state.storage), request_of(admission)
    spec = item["spec"]
    with Refusals(admission.call, item):
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
