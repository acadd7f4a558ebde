"""Conditions of definitions, which the server itself writes."""

from typing import Any

from stretto.web.api.objects.ownership import own_status
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]


def with_condition(status: Json, condition: Json, now: str) -> list[Json]:
    """The conditions of a status with one of them set.

    The time of its last transition is kept while its value stays.
    """
    word = condition["type"]
    found: list[Json] = list(status.get("conditions") or ())
    index = next((at for at, each in enumerate(found) if each.get("type") == word), len(found))
    old = found[index] if index < len(found) else {}
    is_same = old.get("status") == condition["status"]
    since = old.get("lastTransitionTime", now) if is_same else now
    found[index : index + 1] = [{**condition, "lastTransitionTime": since}]
    return found


def write_status(
    state: ApiState, resource: ServedResource, found: StoredItem, status: Json
) -> StoredItem:
    """Store another status of a definition; returns the definition."""
    changed = {**found.item, "status": status}
    own_status(state, resource, found.item, changed)
    return state.storage.replace(resource, found.record, changed, found.record.deleting)
