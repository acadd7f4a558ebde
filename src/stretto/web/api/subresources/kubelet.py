"""Logs, commands and tunnels, which require a kubelet; simulated nodes have none."""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, forbidden, invalid
from stretto.api.wire.kinds import NODE, Kind
from stretto.web.api import failures
from stretto.web.api.call import Call, integer_parameter
from stretto.web.api.failures import ApiError, bad_request, not_found
from stretto.web.api.message import NO_CACHE, ApiRequest, ApiResponse
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_LOG_OPTIONS: Final = Kind("", "v1", "PodLogOptions", "")
_LEAST: Final = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}
"""Numeric options of logs, and the minimum of each."""
_IN_CONTAINERS: Final = ("log", "exec", "attach")
"""Subresources of one container."""


def kubelet(state: ApiState, call: Call) -> ApiResponse:
    """Answer requests to a kubelet that can be answered without a kubelet."""
    name, part = call.route.name, call.route.subresource
    if part == "log":
        _check_log_options(call.request, name)
    if part == "proxy":
        name = _target(name, call.resource.kind.kind)
    found = state.storage.find(call.resource.stored, call.route.namespace, name)
    if found is None:
        raise not_found(call.resource.group, call.resource.resource, name)
    if call.resource.kind.kind == "Pod":
        unbound = _refuse_pod(state, call, found.item)
        if unbound is not None:
            return unbound
    text = "simulated nodes have no kubelet: they run no commands and keep no logs"
    raise ApiError(501, "NotImplemented", text)


def _refuse_pod(state: ApiState, call: Call, pod: Json) -> ApiResponse | None:
    """Return the response about a pod that no node runs; ``None`` about any other pod.

    Raises:
        ApiError: the pod has no such container, no node, or its node does not exist.
    """
    part, name = call.route.subresource, pod["metadata"]["name"]
    if part == "proxy":
        if not (pod.get("status") or {}).get("podIP"):
            raise bad_request("address not allowed")
        return None
    if part in _IN_CONTAINERS:
        _check_container(pod, call.request.parameter("container"))
    node = (pod.get("spec") or {}).get("nodeName")
    if not node and part == "log":
        return ApiResponse(204, b"", "", NO_CACHE)
    if not node:
        raise bad_request(f"pod {name} does not have a host assigned")
    if state.storage.find(NODE, "", node) is None:
        raise not_found("", "pods", node)
    return None


def _check_container(pod: Json, wanted: str) -> None:
    """Refuse a container that the pod does not have, or an ambiguous choice."""
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    parts = ("containers", "initContainers", "ephemeralContainers")
    names = [[each.get("name", "") for each in spec.get(part) or ()] for part in parts]
    if wanted and not any(wanted in each for each in names):
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    if not wanted and len(names[0]) > 1:
        text = f"a container name must be specified for pod {name}, choose one of: "
        text += f"[{' '.join(names[0])}]"
        if names[1]:
            text += f" or one of the init containers: [{' '.join(names[1])}]"
        raise bad_request(text)


def _check_log_options(request: ApiRequest, name: str) -> None:
    """Refuse numbers that are too small, and two start times."""
    errors: Errors = []
    for field, least in _LEAST.items():
        number = integer_parameter(request, field)
        if number is not None and number < least:
            bound = "greater than 0" if least else "greater than or equal to 0"
            errors.append(invalid(field, number, f"must be {bound}"))
    if request.parameter("sinceSeconds") and request.parameter("sinceTime"):
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(forbidden("sinceSeconds", detail))
    if errors:
        causes = [(each.reason, each.message, each.field) for each in errors]
        raise failures.invalid(_LOG_OPTIONS, name, causes)


def _target(text: str, kind: str) -> str:
    """Return the object of a proxy request: ``name``, ``name:port`` or ``scheme:name:port``."""
    parts = text.split(":")
    if len(parts) > 3 or (len(parts) == 3 and parts[0] not in ("http", "https")):
        raise bad_request(f'invalid {kind.lower()} request "{text}"')
    return parts[1] if len(parts) == 3 else parts[0]
