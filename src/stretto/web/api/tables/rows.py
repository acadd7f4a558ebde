"""Objects as rows of a ``Table``."""

from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request
from stretto.web.api.negotiation import Accepted
from stretto.web.api.state import ApiState
from stretto.web.api.tables.columns import TableFormat, columns_of

Json = dict[str, Any]


def table_of(
    state: ApiState, call: Call, items: list[Json], metadata: Json, accepted: Accepted
) -> Json:
    """A table of objects of the call's resource."""
    return table_in(state, call, columns_of(call.resource), (items, metadata), accepted)


def table_in(
    state: ApiState,
    call: Call,
    form: TableFormat,
    content: tuple[list[Json], Json],
    accepted: Accepted,
) -> Json:
    """A table of objects and its metadata, with some columns."""
    items, metadata = content
    include = call.request.parameter("includeObject") or "Metadata"
    if include not in ("Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{accepted.version}",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in form.columns],
        "rows": [row_of(state, form, item, include, accepted) for item in items],
    }


def row_of(
    state: ApiState, form: TableFormat, item: Json, include: str, accepted: Accepted
) -> Json:
    """One row."""
    row: Json = {"cells": form.cells(item, state.clock.now())}
    if include == "Object":
        row["object"] = item
    elif include == "Metadata":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": f"meta.k8s.io/{accepted.version}",
            "metadata": item["metadata"],
        }
    else:
        row["object"] = None
    return row
