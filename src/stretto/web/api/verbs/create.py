"""POST of a new object."""

from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request, internal
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.reading import parse_body, read_object
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import create_object, default_object


def create(state: ApiState, call: Call) -> ApiResponse:
    """Create an object."""
    request, resource = call.request, call.resource
    value, repeated = parse_body(request.body, request.header("content-type"), resource.kind.kind)
    item, warnings = read_object(value, repeated, resource, call.options.validation)
    call.warnings += warnings
    metadata = item.setdefault("metadata", {})
    if resource.kind.namespaced:
        place_in(metadata, call.route.namespace)
    if metadata.get("resourceVersion"):
        raise internal("resourceVersion should not be set on objects to be created")
    stored = create_object(state, call, default_object(call, item))
    return answer(state, call, stored, 201)


def place_in(metadata: dict[str, object], namespace: str) -> None:
    """Set the namespace of the path.

    Raises:
        ApiError: the object states another one.
    """
    if metadata.setdefault("namespace", namespace) != namespace:
        text = (
            "the namespace of the provided object does not match the namespace sent on the request"
        )
        raise bad_request(text)
