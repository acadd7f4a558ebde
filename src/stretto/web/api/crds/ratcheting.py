"""Ratcheting: an update keeps values that its schema refuses if it does not change them.

A value is compared with the former value of the same member. Items correspond by the keys of their
list; an item of another list has no former value, so it is checked even if it is unchanged.
"""

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

from stretto.api.wire.values import identity, is_equal

Json = dict[str, Any]

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


_Steps = list[tuple[str, str]]
"""The indices and names of a path."""


class _Place(NamedTuple):
    """A place in the new and in the former object."""

    #: The new value.
    value: Any
    #: The former value; ``None`` without one.
    before: Any
    #: The schema of both.
    schema: Json
    #: Whether the value, or one that contains it, is unchanged.
    is_unchanged: bool = False


class FormerValues:
    """Former values of the members of an object; lists are indexed and values compared once."""

    def __init__(self) -> None:
        # by identity; each list and value is kept, so that its identity stays unique
        self._lists: dict[int, tuple[Any, dict[bytes, Any]]] = {}
        self._equal: dict[tuple[int, int], tuple[Any, Any, bool]] = {}
        # place of the last path without its last step: errors of one value are adjacent
        self._outer: tuple[_Steps, _Place] | None = None

    def is_unchanged(self, path: str, item: Json, old: Json, schema: Json) -> bool:
        """Return whether the value at a path, or a value that contains it, has not changed.

        All paths are of one object.
        """
        steps: _Steps = _STEP.findall(path)
        if not steps:
            return False
        outer = steps[:-1]
        if self._outer is None or self._outer[0] != outer:
            self._outer = outer, reduce(self._below, outer, _Place(item, old, schema))
        return self._below(self._outer[1], steps[-1]).is_unchanged

    def _below(self, place: _Place, step: tuple[str, str]) -> _Place:
        if place.is_unchanged or place.before is None:
            return place
        index, name = step
        if index:
            value, before, schema = self._item(*place[:3], int(index))
        else:
            value, before, schema = _member(*place[:3], name)
        unchanged = before is not None and self._are_equal(value, before)
        return _Place(value, before, schema, unchanged)

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
