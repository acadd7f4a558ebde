"""Ratcheting: an update keeps values that its schema refuses if it does not change them.

A value is compared with the former value of the same member. Items correspond by the keys of their
list; an item of another list has no former value, so it is checked even if it is unchanged.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from stretto.api.wire.values import identity, is_equal

Json = dict[str, Any]

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class FormerValues:
    """Former values of the members of an object; lists are indexed and values compared once."""

    def __init__(self) -> None:
        # by identity; each list and value is kept, so that its identity stays unique
        self._lists: dict[int, tuple[Any, dict[bytes, Any]]] = {}
        self._equal: dict[tuple[int, int], tuple[Any, Any, bool]] = {}

    def is_unchanged(self, path: str, item: Json, old: Json, schema: Json) -> bool:
        """Return whether the value at a path, or a value that contains it, has not changed."""
        value, before, node = item, old, schema
        for index, name in _STEP.findall(path):
            if index:
                value, before, node = self._item(value, before, node, int(index))
            else:
                value, before, node = _member(value, before, node, name)
            if before is None:
                return False
            if self._are_equal(value, before):
                return True
        return False

    def partner(self, schema: Json, item: Any, old: Any) -> Any:
        """The former item of a keyed list; ``None`` for other lists and new items."""
        keys = schema.get("x-kubernetes-list-map-keys")
        if not keys or not isinstance(old, list) or not isinstance(item, dict):
            return None
        known = self._lists.get(id(old))
        if known is None:
            found: dict[bytes, Any] = {}
            for each in old:
                if isinstance(each, dict):
                    found.setdefault(_identity(each, keys), each)
            known = self._lists[id(old)] = old, found
        return known[1].get(_identity(item, keys))

    def _are_equal(self, value: Any, before: Any) -> bool:
        pair = id(value), id(before)
        known = self._equal.get(pair)
        if known is None:
            known = self._equal[pair] = value, before, is_equal(value, before)
        return known[2]

    def _item(self, value: Any, old: Any, schema: Json, index: int) -> tuple[Any, Any, Json]:
        if not isinstance(value, list) or index >= len(value):
            return None, None, {}
        item = value[index]
        return item, self.partner(schema, item, old), schema.get("items") or {}


def _identity(item: Json, keys: Sequence[str]) -> bytes:
    return identity([item.get(key) for key in keys])


def _member(value: Any, old: Any, schema: Json, name: str) -> tuple[Any, Any, Json]:
    if not isinstance(value, dict) or not isinstance(old, dict):
        return None, None, {}
    extra = schema.get("additionalProperties")
    inner = (schema.get("properties") or {}).get(name) or (extra if isinstance(extra, dict) else {})
    return value.get(name), old.get(name), inner
