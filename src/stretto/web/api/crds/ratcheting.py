"""Ratcheting: an update keeps values that its schema refuses if it does not change them.

A value is compared with the former value of the same member. Items correspond by the keys of their
list; an item of another list has no former value, so it is checked even if it is unchanged.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from stretto.api.wire.values import identity, is_equal

Json = dict[str, Any]

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


_Step = tuple[str, str]
"""Index or name in a path; the other one is empty."""


class _FormerPlace(NamedTuple):
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
        # steps of the last path with their places: the errors of one value follow each other
        self._trail: list[tuple[_Step, _FormerPlace]] = []
        # path and place of the last owner of a member: the errors of its members follow each other
        self._owner: tuple[str, _FormerPlace] | None = None

    def is_unchanged(self, path: str, item: Json, old: Json, schema: Json) -> bool:
        """Return whether the value at a path, or a value that contains it, has not changed.

        All paths are of one object.
        """
        whole, dot, name = path.rpartition(".")
        if not dot or not name or "[" in name:
            return self._place(path, _FormerPlace(item, old, schema)).is_unchanged
        if self._owner is None or self._owner[0] != whole:
            self._owner = whole, self._place(whole, _FormerPlace(item, old, schema))
        return self._below(self._owner[1], ("", name)).is_unchanged

    def _place(self, path: str, place: _FormerPlace) -> _FormerPlace:
        """Return the place at a path, after the steps that it shares with the last one."""
        for depth, step in enumerate(_STEP.findall(path)):
            if depth < len(self._trail) and self._trail[depth][0] == step:
                place = self._trail[depth][1]
                continue
            del self._trail[depth:]
            place = self._below(place, step)
            self._trail.append((step, place))
        return place

    def _below(self, place: _FormerPlace, step: _Step) -> _FormerPlace:
        if place.is_unchanged or place.before is None:
            return place
        index, name = step
        if index:
            value, before, schema = self._item(*place[:3], int(index))
        else:
            value, before, schema = _member(*place[:3], name)
        unchanged = before is not None and self._are_equal(value, before)
        return _FormerPlace(value, before, schema, unchanged)

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
