"""GET, PUT and PATCH of a scale."""

from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import served
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.scale.ownership import owned_scale
from stretto.web.api.subresources.scale.replicas import SCALE, check_replicas, scale_of
from stretto.web.api.subresources.scale.requests import read_patch, read_update
from stretto.web.api.subresources.scale.storing import rescaled
from stretto.web.api.tables.columns import custom_scale_format, format_of
from stretto.web.api.verbs.answers import answer

Json = dict[str, Any]


def scale(state: ApiState, call: Call) -> ApiResponse:
    """Read or change the number of replicas."""
    route = call.route
    if call.verb == "get":
        found = served(call, state.storage.get(call.resource, route.namespace, route.name))
        check_replicas(call, found.item)
        return _answer(state, call, found.item)
    read = read_update if call.verb == "update" else read_patch
    change = read(state, call)
    found = served(call, state.storage.get(call.resource, route.namespace, route.name))
    wanted, owners = change(owned_scale(call, found.item))
    return _answer(state, call, rescaled(state, call, found, wanted, owners))


def _answer(state: ApiState, call: Call, item: Json) -> ApiResponse:
    """Return the scale of an object in the form that the client accepts."""
    is_custom = call.resource.definition is not None
    columns = custom_scale_format() if is_custom else format_of((SCALE.group, SCALE.kind))
    return answer(state, call, scale_of(call, item), columns=columns)
