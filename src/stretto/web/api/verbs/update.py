"""PUT of an object."""

from stretto.web.api.call import Call
from stretto.web.api.failures import conflict, not_found
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import other_uid, stated_version
from stretto.web.api.objects.naming import complete_object, named
from stretto.web.api.objects.strategies import strategy_of
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import create_object, update_object


def update(state: ApiState, call: Call) -> ApiResponse:
    """Replace an object; some kinds create it if it does not exist."""
    resource, route = call.resource, call.route
    item = named(call, complete_object(call))
    metadata = item["metadata"]
    old = state.storage.served(resource, route.namespace, route.name)
    if old is not None:
        return answer(state, call, update_object(state, call, old, item))
    if not strategy_of(resource).creates_on_update:
        raise not_found(resource.group, resource.resource, route.name)
    if uid := metadata.get("uid"):
        why = other_uid(call, route.namespace, route.name, (uid, ""))
        raise conflict(resource.group, resource.resource, route.name, why)
    stated_version(item)
    metadata.pop("resourceVersion", None)
    return answer(state, call, create_object(state, call, item), 201)
