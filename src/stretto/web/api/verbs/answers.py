"""Responses about one object in the form that the client accepts."""

from typing import Any, Final

from stretto.web.api.call import Call
from stretto.web.api.encoding import JSON, SERVED, YAML
from stretto.web.api.failures import ApiError
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import Accepted, encoded, negotiate
from stretto.web.api.state import ApiState
from stretto.web.api.tables.columns import TableFormat, columns_of
from stretto.web.api.tables.rows import shown_metadata, table_in

Json = dict[str, Any]

OBJECT_FORMS: Final = ("Table", "PartialObjectMetadata")
"""Forms of one object."""
LIST_FORMS: Final = ("Table", "PartialObjectMetadataList")
"""Forms of a list."""


def answer(
    state: ApiState, call: Call, item: Json, status: int = 200, columns: TableFormat | None = None
) -> ApiResponse:
    """Return an object as the client accepts it; ``columns`` replaces the table's columns."""
    has_metadata = "get" in call.resource.facts.verbs  # reviews are results, not objects
    accepted = accept(call, OBJECT_FORMS if has_metadata else ())
    if accepted.form == "Table" and item.get("kind") != "Status":
        version = item["metadata"].get("resourceVersion", "")
        content = ([item], {"resourceVersion": version})
        item = table_in(state, call, columns or columns_of(call.resource), content, accepted)
    elif accepted.form == "PartialObjectMetadata" and item.get("kind") != "Status":
        item = metadata_only(item, accepted)
    return encoded(item, accepted, status, call.warnings)


def accept(call: Call, forms: tuple[str, ...]) -> Accepted:
    """Return the form of the response.

    Raises:
        ApiError: the client accepts no served media type.
    """
    served = SERVED if call.resource.definition is None else (JSON, YAML)
    header, watch = call.request.header("accept"), call.verb == "watch"
    return negotiate(header, forms, served, watch=watch)


def metadata_only(item: Json, accepted: Accepted) -> Json:
    """Return the metadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{accepted.version}",
        "metadata": shown_metadata(item),
    }


def refuse_list_form(call: Call) -> None:
    """Refuse a list form for a single object."""
    header = call.request.header("accept")
    if "as=PartialObjectMetadataList" in header and "," not in header:
        text = (
            "you requested PartialObjectMetadataList, but the requested object is not a list "
            f"(*core.{call.resource.kind.kind})"
        )
        raise ApiError(406, "NotAcceptable", text)
