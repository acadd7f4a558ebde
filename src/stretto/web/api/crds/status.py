"""The status of definitions, which the server itself writes."""

from typing import Any

from stretto.web.api.objects.ownership import own_status
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]


def write_status(
    state: ApiState, resource: ServedResource, found: StoredItem, status: Json
) -> StoredItem:
    """Store a new status of a definition; return the definition."""
    changed = {**found.item, "status": status}
    own_status(state, resource, found.item, changed)
    return state.storage.replace(resource, found.record, changed, found.record.deleting)
