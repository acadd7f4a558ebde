"""Limit on the values of an object, to which each change may add."""

from typing import Any

from stretto.api.wire.limits import most_values_of
from stretto.web.api.call import Call
from stretto.web.api.objects.json_text import check_count, most_values
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]


def check_growth(call: Call, item: Json, old: StoredItem) -> None:
    """Refuse a change that adds values to a large object: each write of it would take longer.

    Raises:
        ApiError: the object has too many values, and more than before.
    """
    most = most_values(call.resource.kind.kind) * 5 // 4
    if most_values_of(old.record.body) + most_values_of(call.request.body) <= most:
        return
    values = _values(item)
    if values > most and values > _values(old.item):
        check_count(values, most)


def _values(value: Any) -> int:
    """Return the number of values below an object or list, without its managed fields."""
    if isinstance(value, dict):
        parts = [each for name, each in value.items() if name != "managedFields"]
    else:
        parts = value
    return len(parts) + sum(_values(each) for each in parts if type(each) in (dict, list))
