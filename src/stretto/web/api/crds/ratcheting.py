"""Ratcheting: an update keeps values that its schema refuses if it does not change them.

A value is compared with the former value of the same member. Items correspond by the keys of their
list; an item of another list has no former value, so it is checked even if it is unchanged.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from stretto.api.wire.values import identities, is_equal

Json = dict[str, Any]

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


_NO_PLACE: Final = _FormerPlace(None, None, {})
"""A place that the former object lacks; neither has any place below it."""


class FormerValues:
    """Former values of the members of an object; each list is read and each value compared once."""

    def __init__(self, item: Json, old: Json, schema: Json) -> None:
        """Compare an object with the former one; both have the schema."""
        self._places = {"": _FormerPlace(item, old, schema)}
        # by the identity of the list, which the object keeps, so that it stays unique
        self._partners: dict[int, list[Any]] = {}

    def is_unchanged(self, path: str) -> bool:
        """Return whether the value at a path, or a value that contains it, has not changed."""
        parent, step = _last_step(path)
        above = self._place(parent)
        if above.is_unchanged or above.before is None:
            return above.is_unchanged
        return self._below(above, step).is_unchanged

    def _place(self, path: str) -> _FormerPlace:
        known = self._places.get(path)
        if known is None:
            parent, step = _last_step(path)
            known = self._places[path] = self._below(self._place(parent), step)
        return known

    def _below(self, place: _FormerPlace, step: _Step) -> _FormerPlace:
        if place.is_unchanged or place.before is None:
            return place
        index, name = step
        if index:
            value, before, schema = self._item(place.value, place.before, place.schema, int(index))
        else:
            value, before, schema = _member(place.value, place.before, place.schema, name)
        if before is None:
            return _NO_PLACE
        return _FormerPlace(value, before, schema, is_equal(value, before))

    def _item(self, value: Any, old: Any, schema: Json, index: int) -> tuple[Any, Any, Json]:
        if not isinstance(value, list) or index >= len(value):
            return None, None, {}
        known = self._partners.get(id(value))
        if known is None:
            known = self._partners[id(value)] = partners(schema, value, old)
        return value[index], known[index], schema.get("items") or {}


def partners(schema: Json, items: list[Any], old: Any) -> list[Any]:
    """The former items of a keyed list; ``None`` for new items and items of other lists."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys or not isinstance(old, list):
        return [None] * len(items)
    former: dict[str, Any] = {}
    for mark, each in zip(_marks(old, keys), old, strict=True):
        former.setdefault(mark, each)
    former.pop(_NO_MAP, None)
    return [former.get(mark) for mark in _marks(items, keys)]


_NO_MAP: Final = "null"
"""Identity of the keys of an item that is no object."""


def _marks(items: list[Any], keys: Sequence[str]) -> list[str]:
    """Identities of the keys of items."""
    return identities(
        [each.get(key) for key in keys] if isinstance(each, dict) else None for each in items
    )


def _last_step(path: str) -> tuple[str, _Step]:
    """Split a path before its last step."""
    if path.endswith("]"):
        parent, _, index = path[:-1].rpartition("[")
        if index.isdecimal():
            return parent, (index, "")
    parent, _, name = path.rpartition(".")
    return parent, ("", name)


def _member(value: Any, old: Any, schema: Json, name: str) -> tuple[Any, Any, Json]:
    if not isinstance(value, dict) or not isinstance(old, dict):
        return None, None, {}
    extra = schema.get("additionalProperties")
    inner = (schema.get("properties") or {}).get(name) or (extra if isinstance(extra, dict) else {})
    return value.get(name), old.get(name), inner
