"""Objects as rows of a ``Table``."""

from typing import Any, Final

from stretto.api.admission.defaulting.workloads import TEMPLATE_GENERATION
from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request
from stretto.web.api.negotiation import Accepted
from stretto.web.api.state import ApiState
from stretto.web.api.tables.columns import TableFormat, columns_of

Json = dict[str, Any]

_ENDED: Final = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
"""Notes about pods that have ended."""


def table_of(
    state: ApiState, call: Call, items: list[Json], metadata: Json, accepted: Accepted
) -> Json:
    """Return a table of objects of the call's resource."""
    return table_in(state, call, columns_of(call.resource), (items, metadata), accepted)


def table_in(
    state: ApiState,
    call: Call,
    form: TableFormat,
    content: tuple[list[Json], Json],
    accepted: Accepted,
) -> Json:
    """Return a table of objects and its metadata, with the given columns."""
    items, metadata = content
    include = included(call)
    if form.order is not None:
        items = sorted(items, key=form.order)
    rows = [row_of(state, form, item, include, accepted) for item in items]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{accepted.version}",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in form.columns],
        "rows": None if form.is_plain and not rows else rows,
    }


def included(call: Call) -> str:
    """Return the part of each object that a table includes: all, the metadata or none.

    Raises:
        ApiError: the option has another value.
    """
    include = call.request.parameter("includeObject") or "Metadata"
    if include not in ("Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return include


def shown_metadata(item: Json) -> Json:
    """Return the metadata of an object that is shown without its other fields.

    The counter of a DaemonSet is an annotation only of the complete object.
    """
    metadata: Json = item["metadata"]
    notes = metadata.get("annotations")
    if not notes or TEMPLATE_GENERATION not in notes:
        return metadata
    rest = {key: each for key, each in notes.items() if key != TEMPLATE_GENERATION}
    left = {key: each for key, each in metadata.items() if key != "annotations"}
    return {**left, "annotations": rest} if rest else left


def row_of(
    state: ApiState, form: TableFormat, item: Json, include: str, accepted: Accepted
) -> Json:
    """Return one row."""
    row: Json = {"cells": form.cells(item, state.clock.now())}
    phase = (item.get("status") or {}).get("phase") if item.get("kind") == "Pod" else ""
    if phase in _ENDED:
        row["conditions"] = [
            {"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}
        ]
    if include == "Object":
        row["object"] = item
    elif include == "Metadata":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": f"meta.k8s.io/{accepted.version}",
            "metadata": shown_metadata(item),
        }
    else:
        row["object"] = None
    return row
