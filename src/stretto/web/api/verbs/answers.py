"""Responses about one object in the form that the client accepts."""

from functools import lru_cache
from typing import Any, Final

from stretto.web.api.call import Call
from stretto.web.api.encoding import JSON, SERVED, YAML
from stretto.web.api.failures import ApiError
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import (
    KEPT_LENGTH,
    METADATA_FORMS,
    OBJECT_FORMS,
    STREAMED,
    Accepted,
    ServedForm,
    check_routed,
    encoded,
    negotiate,
    not_acceptable,
    unserved_form,
)
from stretto.web.api.resources import ServedResource, go_type
from stretto.web.api.state import ApiState
from stretto.web.api.tables.columns import TableFormat, columns_of
from stretto.web.api.tables.rows import shown_metadata, table_in

Json = dict[str, Any]

_CUSTOM: Final = (JSON, YAML)
"""Media types of custom kinds."""
_WITH_STREAMS: Final = (*SERVED, *STREAMED)
"""Media types of lists and watches."""
_TABLES_OF_PARTS: Final = ("", "status", "scale")
"""Subresources with columns; empty for objects."""
_WITHOUT_TABLE: Final = frozenset(
    {("apiregistration.k8s.io", "APIService"), ("resource.k8s.io", "ResourceClaim")}
)
"""Kinds whose status has no columns."""


def answer(
    state: ApiState, call: Call, item: Json, status: int = 200, columns: TableFormat | None = None
) -> ApiResponse:
    """Return an object as the client accepts it; ``columns`` replaces the table's columns.

    Raises:
        ApiError: the client accepts only a form that this object does not have.
    """
    accepted = accept(call)
    is_object = item.get("kind") != "Status"
    if accepted.form == "PartialObjectMetadataList" and is_object:
        raise _not_a_list(call)
    if accepted.form == "Table" and is_object:
        version = item["metadata"].get("resourceVersion")  # absent after a dry run
        content = ([item], {"resourceVersion": version} if version else {})
        item = table_in(state, call, columns or columns_of(call.resource), content, accepted)
    elif accepted.form and is_object:
        item = metadata_only(item, accepted)
    return encoded(item, accepted, status, call.warnings)


def accept(call: Call) -> Accepted:
    """Return the form of the response.

    Raises:
        ApiError: the client accepts no served media type.
    """
    route, header, resource = call.route, call.request.header("accept"), call.resource
    is_list = route.watches or (call.verb in ("list", "watch") and not route.name)
    forms = OBJECT_FORMS if _has_columns(resource, route.subresource) else METADATA_FORMS
    chosen = _kept_form if len(header) <= KEPT_LENGTH else _form
    return chosen(header, forms, is_custom=resource.definition is not None, is_list=is_list)


def _form(header: str, forms: frozenset[ServedForm], *, is_custom: bool, is_list: bool) -> Accepted:
    """Return the form of a response in one of some forms of objects."""
    if not is_custom:
        check_routed(header, _WITH_STREAMS if is_list else SERVED)
    found = negotiate(header, _CUSTOM if is_custom else SERVED, forms)
    if found is None:
        raise not_acceptable()
    return found


_kept_form: Final = lru_cache(maxsize=1024)(_form)
"""Caches forms without their resources, which would keep removed definitions in memory."""


def _has_columns(resource: ServedResource, part: str) -> bool:
    """Return whether the response can be a table."""
    if part == "status" and resource.key in _WITHOUT_TABLE:
        return False
    return part in _TABLES_OF_PARTS and "get" in resource.facts.verbs


def metadata_only(item: Json, accepted: Accepted) -> Json:
    """Return the metadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{accepted.version}",
        "metadata": shown_metadata(item),
    }


def _not_a_list(call: Call) -> ApiError:
    is_custom = call.resource.definition is not None
    kind = go_type(call.resource)
    if call.route.subresource == "scale":
        kind = "v1.Scale" if is_custom else "autoscaling.Scale"
    elif is_custom:
        return ApiError(500, "", "content is not a list")
    text = "you requested PartialObjectMetadataList, but the requested object is not a list"
    return unserved_form(f"{text} (*{kind})")
