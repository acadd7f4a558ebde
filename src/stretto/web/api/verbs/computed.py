"""GET of resources with computed objects, which have no versions, pages or watches."""

from collections.abc import Mapping
from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.failures import not_found
from stretto.web.api.message import ApiResponse
from stretto.web.api.resources import ComputedObjects
from stretto.web.api.selection.options import selection_of
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import accept, answer
from stretto.web.api.verbs.pages import items_answer

Json = dict[str, Any]


def computed(state: ApiState, call: Call, objects: ComputedObjects) -> ApiResponse:
    """Read one object, or the selected objects.

    Raises:
        ApiError: the object does not exist, or an option is malformed.
    """
    route = call.route
    if call.verb == "get":
        found = objects.get(route.namespace, route.name)
        if found is None:
            word = call.resource.facts.singular
            raise not_found(call.resource.group, word, route.name)
        return answer(state, call, _item(call, found))
    selection = selection_of(call)
    items = [_item(call, each) for each in objects.list(route.namespace)]
    selected = [each for each in items if selection.matches(each) and selection.has_in_part(each)]
    return items_answer(state, call, (selected, {}), accept(call))


def _item(call: Call, found: Mapping[str, Any]) -> Json:
    kind = call.resource.kind
    return {"kind": kind.kind, "apiVersion": kind.api_version, **found}
