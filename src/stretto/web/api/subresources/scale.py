"""The scale of a workload: its replicas as an object of autoscaling/v1."""

from typing import Any

from stretto.api.schema.kubernetes import struct
from stretto.web.api.call import Call, write_options
from stretto.web.api.failures import no_method
from stretto.web.api.message import ApiResponse
from stretto.web.api.patching.patches import patched
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.replicas import SCALE, rescaled, scale_of
from stretto.web.api.subresources.typed import read_typed
from stretto.web.api.tables.columns import format_of
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.patch import patch_type
from stretto.web.api.verbs.update import check_name

Json = dict[str, Any]


def scale(state: ApiState, call: Call) -> ApiResponse:
    """Read or change the number of replicas."""
    if call.verb not in ("get", "update", "patch"):
        raise no_method()
    route = call.route
    if call.verb == "get":
        found = state.storage.get(call.resource, route.namespace, route.name)
        return _answer(state, call, found.item)
    call.options = write_options(call.request, call.verb, {})
    if call.verb == "update":
        wanted = read_typed(call, SCALE, struct("autoscaling/v1.Scale"))
        check_name(wanted.get("metadata", {}).get("name", ""), route.name)
        found = state.storage.get(call.resource, route.namespace, route.name)
    else:
        media = patch_type(call)
        found = state.storage.get(call.resource, route.namespace, route.name)
        before = scale_of(call, found.item)
        after = patched(before, call.request.body, media, struct("autoscaling/v1.Scale"))
        wanted = read_typed(call, SCALE, struct("autoscaling/v1.Scale"), after)
    item = rescaled(state, call, found, wanted)
    return _answer(state, call, item)


def _answer(state: ApiState, call: Call, item: Json) -> ApiResponse:
    """The scale of an object in the form that the client accepts."""
    columns = format_of((SCALE.group, SCALE.kind))
    return answer(state, call, scale_of(call, item), columns=columns)
