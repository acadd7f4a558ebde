"""Bodies of subresources that have the kind of their object."""

from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.objects.reading import parse_body, read_object
from stretto.web.api.verbs.create import place_in
from stretto.web.api.verbs.update import check_name
from stretto.web.api.writes import default_object

Json = dict[str, Any]


def object_body(call: Call) -> Json:
    """The body of a request as an object of the resource, with its defaults.

    Raises:
        ApiError: it is malformed, or names another object.
    """
    request, route = call.request, call.route
    value, repeated = parse_body(
        request.body, request.header("content-type"), call.resource.kind.kind
    )
    item, warnings = read_object(value, repeated, call.resource, call.options.validation)
    call.warnings += warnings
    metadata = item.setdefault("metadata", {})
    check_name(metadata.get("name", ""), route.name)
    if call.resource.kind.namespaced:
        place_in(metadata, route.namespace)
    return default_object(call, item)
