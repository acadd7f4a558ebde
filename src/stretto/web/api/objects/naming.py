"""The object in the body of a request, with the name and the namespace of the path."""

from typing import Any

import msgspec

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.web.api.call import Call
from stretto.web.api.crds.stated import check_body
from stretto.web.api.failures import bad_request, other_namespace
from stretto.web.api.objects.reading import parse_body, read_object
from stretto.web.api.objects.recurring.bodies import recurring_object

Json = dict[str, Any]


def default_object(call: Call, item: Json) -> Json:
    """Return an object with the defaults of its kind."""
    if call.resource.definition is None:
        set_defaults(item, call.resource.struct)
    return item


def complete_object(call: Call) -> Json:
    """Return the object in the body of a request with the defaults of its kind.

    Bodies of one template, which differ only in their names, are decoded once.

    Raises:
        ApiError: the body is malformed, or is no object of the kind of the path.
    """
    return recurring_object(call) or default_object(call, sent_object(call))


def given_object(call: Call, value: Json) -> Json:
    """Return an object of the server's own components with the defaults of its kind.

    Raises:
        ApiError: it is no object of the kind of the path.
    """
    item, _ = read_object(value, [], call.resource, "Ignore")
    return default_object(call, item)


def sent_object(call: Call) -> Json:
    """Decode the object in the body of a request; its warnings are kept for the answer.

    Raises:
        ApiError: the body is malformed, or is no object of the kind of the path.
    """
    request, resource = call.request, call.resource
    value, repeated = parse_body(request.body, request.header("content-type"), resource.kind.kind)
    if resource.definition is not None:
        check_body(request.body, value, resource)
    call.sent = value
    item, warnings = read_object(value, repeated, resource, call.options.validation)
    call.warnings += warnings
    return item


def sent_value(call: Call) -> Any:
    """Return the written object before it is decoded; ``None`` if it was not read."""
    sent = call.sent
    return msgspec.json.decode(sent) if isinstance(sent, msgspec.Raw) else sent


def named(call: Call, item: Json) -> Json:
    """Return an object with the name and the namespace of the path.

    Raises:
        ApiError: the object has a different name or namespace.
    """
    place(call, item)
    check_name(item["metadata"].get("name", ""), call.route.name)
    return item


def place(call: Call, item: Json) -> None:
    """Set the namespace of the path; remove it for a cluster-scoped kind.

    Raises:
        ApiError: the object has a different namespace.
    """
    metadata = item.setdefault("metadata", {})
    namespace = call.route.namespace if call.resource.kind.namespaced else ""
    if not namespace:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = namespace
    elif metadata["namespace"] != namespace:
        raise other_namespace()


def check_name(stated: str, name: str) -> None:
    """Refuse an object whose name differs from that of the path."""
    if not stated:
        text = f"the name of the object ({name} based on URL) was undeterminable: "
        raise bad_request(text + "name must be provided")
    if stated != name:
        text = f"the name of the object ({stated}) does not match the name on the URL ({name})"
        raise bad_request(text)
