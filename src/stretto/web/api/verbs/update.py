"""PUT of an object."""

from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request, conflict, not_found
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import other_uid
from stretto.web.api.objects.reading import parse_body, read_object
from stretto.web.api.objects.strategies import strategy_of
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.create import place_in
from stretto.web.api.writes import create_object, default_object, update_object


def update(state: ApiState, call: Call) -> ApiResponse:
    """Replace an object; some kinds create it if it does not exist."""
    request, resource, route = call.request, call.resource, call.route
    value, repeated = parse_body(request.body, request.header("content-type"), resource.kind.kind)
    item, warnings = read_object(value, repeated, resource, call.options.validation)
    call.warnings += warnings
    metadata = item.setdefault("metadata", {})
    check_name(metadata.get("name", ""), route.name)
    if resource.kind.namespaced:
        place_in(metadata, route.namespace)
    item = default_object(call, item)
    old = state.storage.find(resource.stored, route.namespace, route.name)
    if old is not None:
        return answer(state, call, update_object(state, call, old, item))
    if not strategy_of(resource).creates_on_update:
        uid = metadata.get("uid")
        if uid:
            why = other_uid(resource, route.namespace, route.name, (uid, ""))
            raise conflict(resource.group, resource.resource, route.name, why)
        raise not_found(resource.group, resource.resource, route.name)
    metadata.pop("resourceVersion", None)
    return answer(state, call, create_object(state, call, item), 201)


def check_name(stated: str, name: str) -> None:
    """Refuse an object with another name than that of the path."""
    if not stated:
        text = f"the name of the object ({name} based on URL) was undeterminable: "
        raise bad_request(text + "name must be provided")
    if stated != name:
        text = f"the name of the object ({stated}) does not match the name on the URL ({name})"
        raise bad_request(text)
