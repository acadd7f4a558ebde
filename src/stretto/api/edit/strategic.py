"""Strategic merge patch: a merge patch in which some lists merge by a key.

Kubernetes declares patch strategies and merge keys as tags on its Go structs; here they are part of
the structs of :mod:`stretto.api.schema`. Members without a struct merge as in RFC 7386. Errors have
the texts of kube-apiserver.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.schema.golang import go_value, reflected_type, struct_type
from stretto.api.schema.types import FieldType, Form, StructType
from stretto.api.wire.values import has_texts_only, identity

Json = dict[str, Any]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"
_Mark = str | bytes
"""Identity of an item of a list: a text itself, or the JSON of another value."""


class StrategicPatchError(Exception):
    """A strategic merge patch does not match the object or its types."""


class RetainKeysError(StrategicPatchError):
    """The ``$retainKeys`` of a patch omit a member that the patch sets."""

    def __init__(self) -> None:
        super().__init__("invalid patch format of retainKeys")


def strategic_merge(item: Json, change: Mapping[str, Any], struct: StructType) -> Json:
    """Return an object with a strategic merge patch; neither argument is changed.

    Raises:
        StrategicPatchError: the patch does not match the types.
    """
    return _object(item, change, struct)


def unordered(change: Any) -> Any:
    """Return a patch without ordered lists and without order directives.

    Messages of kube-apiserver quote a patch in this form.
    """
    if not isinstance(change, dict):
        return change
    ordered = {key.removeprefix(_ORDER) for key in change if key.startswith(_ORDER)}
    gone = {_RETAIN, *ordered, *(f"{_ORDER}{name}" for name in ordered)}
    return {key: unordered(each) for key, each in change.items() if key not in gone}


def _object(old: Any, change: Mapping[str, Any], struct: StructType | None) -> Json:
    if has_texts_only(change) and "$" not in "".join(change):  # it has no directives
        return {**old, **change} if isinstance(old, dict) else dict(change)
    if _PATCH in change:
        directive = change[_PATCH]
        if directive == "replace":
            return {key: _whole(each) for key, each in change.items() if key != _PATCH}
        if directive == "delete":
            return {}
        words = f"{go_value(directive)} in map: {go_value(change)}"
        raise StrategicPatchError(f"unknown patch type: {words}")
    merged = dict(old) if isinstance(old, dict) else {}
    if _RETAIN in change:
        retained = _retained(change)
        merged = {key: each for key, each in merged.items() if key in retained}
    fields = struct.fields if struct is not None else {}
    for key, order in change.items():
        if key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            _check_ordered(order, [merged.get(name), change.get(name)], name, struct)
    for key, value in change.items():
        if key == _RETAIN or key.startswith(_ORDER):
            continue
        before = _stated(merged.get(key), fields.get(key))
        if key.startswith(_DELETE):
            _remove(merged, key.removeprefix(_DELETE), value)
        elif value is None or (_has_directive(value) and not isinstance(before, dict)):
            merged.pop(key, None)
        else:
            merged[key] = _member(before, value, fields.get(key), change.get(_ORDER + key))
    for key, order in change.items():
        name = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and name not in change:
            _order_alone(merged, name, order, fields.get(name))
    return merged


def _stated(old: Any, known: FieldType | None) -> Any:
    """Return a member as Go encodes it: a struct that is no pointer is an object even if empty."""
    if old is None and known is not None and known.type.form is Form.STRUCT:
        return None if known.is_pointer or known.omits_zero else {}
    return old


def _check_ordered(order: Any, lists: list[Any], name: str, struct: StructType | None) -> None:
    """Refuse an order that is no list, or that is for a member that is no list."""
    if order is None:
        raise StrategicPatchError("expected a []interface {}, but received a %!s(<nil>)")
    for each in (order, *lists):
        if each is not None and not isinstance(each, list):
            kind = reflected_type(each)
            raise StrategicPatchError(f"expected a []interface {{}}, but received a {kind}")
    if struct is not None and name not in struct.fields:
        place = struct_type(struct.name).rpartition(".")[2]
        text = f"unable to find api field in struct {place} for the json field {quoted(name)}"
        raise StrategicPatchError(text)
    if struct is not None and struct.fields[name].type.form in (Form.MAP, Form.STRUCT):
        raise StrategicPatchError("expected slice or array type, but got: struct")


def _retained(change: Mapping[str, Any]) -> list[Any]:
    """Return the members that a patch retains; they must include all that it sets."""
    known = change[_RETAIN]
    if not isinstance(known, list):
        raise RetainKeysError
    for key, value in change.items():
        is_directive = key == _RETAIN or key.startswith((_DELETE, _ORDER))
        if value is not None and not is_directive and key not in known:
            raise RetainKeysError
    return known


def _remove(merged: Json, name: str, gone: Any) -> None:
    """Remove values from a list: ``$deleteFromPrimitiveList/finalizers: [a]``."""
    if isinstance(merged.get(name), list) and isinstance(gone, list):
        texts = set(map(identity, gone))
        merged[name] = [each for each in merged[name] if identity(each) not in texts]


def _order_alone(merged: Json, name: str, order: list[Any], known: FieldType | None) -> None:
    """Order a list that the patch does not change otherwise."""
    _check_marks(order, known)
    if isinstance(merged.get(name), list):
        merged[name] = _ordered(merged[name], order, known)


def _member(old: Any, new: Any, known: FieldType | None, order: Any) -> Any:
    """Return a member after the patch: objects and some lists merge, other values are replaced."""
    strategy = known.strategy if known is not None else ()
    if type(old) is not type(new):
        return _clean(new)
    if isinstance(new, dict):
        if "replace" in strategy:
            return _whole(new)
        is_struct = known is not None and known.type.form is Form.STRUCT
        return _object(old, new, known.type.struct if known is not None and is_struct else None)
    if not isinstance(new, list) or known is None or "merge" not in strategy:
        return _whole(new)
    if known.merge_key:
        return _keyed_list(old, new, known, order)
    if len({type(each) for each in (*old, *new)}) > 1:
        text = f"list element types are not identical: {go_value([old, new])}"
        raise StrategicPatchError(text)
    texts = set(map(identity, old))
    added = {identity(each): each for each in new}
    merged = [*old, *(each for text, each in added.items() if text not in texts)]
    return _ordered(merged, order if isinstance(order, list) else new, known, old)


def _keyed_list(old: list[Any], new: list[Any], known: FieldType, order: Any) -> list[Any]:
    """Return a list of objects, merged by key."""
    if any(map(_replaces, new)):
        return [_whole(each) for each in new if not _has_directive(each)]
    key = known.merge_key
    if order is not None:
        _check_marks(order, known)
        _check_order(new, order, key)
    inner = known.type.item.struct if known.type.item is not None else None
    merged = _MergedItems(old, key)
    for each in new:
        _check_item(each, key, old, new)
        if each.get(_PATCH) == "delete":
            merged.remove(_mark(each, key))
    for each in new:
        if each.get(_PATCH) != "delete":
            mark = _mark(each, key)
            found = merged.find(mark)
            merged.put(mark, _whole(each) if found is None else _object(found, each, inner))
    if not isinstance(order, list):
        order = [each for each in new if each.get(_PATCH) != "delete"]
    return _ordered(merged.items, order, known, old)


class _MergedItems:
    """Items of a keyed list during a merge, found by their marks."""

    def __init__(self, items: list[Any], key: str) -> None:
        self._items: dict[int, Any] = dict(enumerate(items))
        self._places: dict[_Mark, list[int]] = {}
        for place, each in self._items.items():
            self._places.setdefault(_mark(each, key), []).append(place)
        self._next = len(items)

    @property
    def items(self) -> list[Any]:
        """The items in their order."""
        return list(self._items.values())

    def find(self, mark: _Mark) -> Any:
        """The first item with a mark; ``None`` if there is none."""
        places = self._places.get(mark)
        return self._items[places[0]] if places else None

    def put(self, mark: _Mark, made: Json) -> None:
        """Replace the first item with a mark, or add one."""
        places = self._places.setdefault(mark, [])
        if not places:
            places.append(self._next)
            self._next += 1
        self._items[places[0]] = made

    def remove(self, mark: _Mark) -> None:
        """Remove all items with a mark."""
        for place in self._places.pop(mark, ()):
            del self._items[place]


def _replaces(item: Any) -> bool:
    """Return whether an item only marks the list as replaced."""
    return isinstance(item, dict) and item.get(_PATCH) == "replace"


def _check_item(item: Any, key: str, old: list[Any], new: list[Any]) -> None:
    """Refuse an item of a keyed list that is not an object or has no merge key."""
    if not isinstance(item, dict):
        raise StrategicPatchError(f"list element types are not identical: {go_value([old, new])}")
    if item.get(_PATCH) == "merge":
        raise StrategicPatchError("merging lists cannot yet be specified in the patch")
    _check_key(item, key)


def _check_key(item: Json, key: str) -> None:
    """Refuse an item of a keyed list without its merge key."""
    if key not in item:
        text = f"map: {go_value(item)} does not contain declared merge key: {key}"
        raise StrategicPatchError(text)


def _check_marks(order: list[Any], known: FieldType | None) -> None:
    """Refuse an order whose items have no merge key."""
    if known is not None and known.merge_key:
        for index, each in enumerate(order):
            if not isinstance(each, dict):
                raise StrategicPatchError(f"value for key {index} is not a map")


def _check_order(new: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch whose items are not in its own demanded order."""
    wanted = _first_places(_mark(each, key) for each in order)
    for each in new if key else ():
        if isinstance(each, dict) and _PATCH not in each:
            _check_key(each, key)
    stated = [
        _mark(each, key)
        for each in new
        if isinstance(each, dict) and each.get(_PATCH) not in ("delete", "replace")
    ]
    positions = [wanted[each] for each in stated if each in wanted]
    if positions != sorted(positions) or len(positions) < len(stated):
        raise StrategicPatchError(
            f"The order in patch list:\n{go_value(new)}\n doesn't match $setElementOrder list:\n"
            f"{go_value(order)}\n"
        )


def _ordered(
    items: list[Any], order: list[Any], known: FieldType | None, before: list[Any] | None = None
) -> list[Any]:
    """Return items in a demanded order; other items keep their previous place.

    Args:
        items: the merged items.
        order: the demanded order, or the items of the patch.
        known: the field of the list.
        before: the list before the patch; default: ``items``.
    """
    key = known.merge_key if known is not None else ""
    wanted = _first_places(_mark(each, key) for each in order)
    past = _first_places(_mark(each, key) for each in (items if before is None else before))
    marks = [_mark(each, key) for each in items]
    named = deque(
        sorted(
            (index for index, mark in enumerate(marks) if mark in wanted),
            key=lambda index: wanted[marks[index]],
        )
    )
    others = deque(index for index, mark in enumerate(marks) if mark not in wanted)
    result: list[Any] = []
    while named or others:
        if not named or (others and _precedes(marks[others[0]], marks[named[0]], past)):
            result.append(items[others.popleft()])
        else:
            result.append(items[named.popleft()])
    return result


def _first_places(marks: Iterable[_Mark]) -> dict[_Mark, int]:
    """Return the first place of each mark."""
    found: dict[_Mark, int] = {}
    for place, mark in enumerate(marks):
        found.setdefault(mark, place)
    return found


def _precedes(one: _Mark, two: _Mark, places: dict[_Mark, int]) -> bool:
    return one in places and two in places and places[one] < places[two]


def _mark(item: Any, key: str) -> _Mark:
    """Return the identity of an item: its merge key, or the item itself if the list has none."""
    found = item
    if key:
        found = item.get(key) if isinstance(item, dict) else None
    return found if type(found) is str else identity(found)


def _has_directive(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _clean(value: Any) -> Any:
    """Return a new value without nulls in objects and without objects that have a directive."""
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if not _has_directive(each)}
        return {key: _clean(each) for key, each in kept.items() if each is not None}
    if isinstance(value, list):
        return [_clean(each) for each in value if not _has_directive(each)]
    return value


def _whole(value: Any) -> Any:
    """Return a value that is not merged, without nulls in objects; directives stay as members."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items() if each is not None}
    return [_whole(each) for each in value] if isinstance(value, list) else value
