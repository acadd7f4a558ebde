"""Strategic merge patch by the patch strategies and merge keys of a kind's types."""

from typing import Any, Final

from stretto.api.schema.golang import go_value, reflected_type
from stretto.api.schema.types import FieldType, Form, StructType, ValueType
from stretto.web.api.failures import ApiError, bad_request, internal

Json = dict[str, Any]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"


def strategic_patch(item: Json, change: Json, struct: StructType) -> Json:
    """An object with a strategic merge patch.

    Raises:
        ApiError: the patch does not fit the types.
    """
    found = _object(item, change, struct)
    return found if isinstance(found, dict) else {}


def unmerged(change: Any) -> Any:
    """A patch in the form for messages: without the lists that it orders and their directives."""
    if not isinstance(change, dict):
        return change
    ordered = {key.removeprefix(_ORDER) for key in change if key.startswith(_ORDER)}
    gone = {_RETAIN, *ordered, *(f"{_ORDER}{name}" for name in ordered)}
    return {key: unmerged(each) for key, each in change.items() if key not in gone}


def _object(old: Any, change: Json, struct: StructType | None) -> Any:
    directive = change.get(_PATCH)
    if directive == "replace":
        return _clean({key: each for key, each in change.items() if key != _PATCH})
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise _unknown(directive, change)
    merged = dict(old) if isinstance(old, dict) else {}
    if _RETAIN in change:
        retained = _retained(change)
        merged = {key: each for key, each in merged.items() if key in retained}
    for key, value in change.items():
        if key in (_PATCH, _RETAIN) or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE):
            _remove(merged, key.removeprefix(_DELETE), value)
            continue
        known = struct.fields.get(key) if struct is not None else None
        if value is None:
            merged.pop(key, None)
        else:
            order = change.get(_ORDER + key)
            merged[key] = _member(merged.get(key), value, known, order)
    for key, order in change.items():
        name = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and name not in change:
            known = struct.fields.get(name) if struct is not None else None
            _check_marks(order, known)
            if isinstance(merged.get(name), list):
                merged[name] = _ordered(merged[name], order, known)
    return merged


def _retained(change: Json) -> list[Any]:
    """The members that a patch keeps; all that it sets are among them."""
    names = change[_RETAIN]
    known = [*names, _PATCH, _RETAIN] if isinstance(names, list) else []
    if any(key not in known and not key.startswith("$") for key in change) or not known:
        raise bad_request("invalid patch format of retainKeys")
    return known


def _unknown(directive: Any, change: Json) -> ApiError:
    return internal(f"unknown patch type: {go_value(directive)} in map: {go_value(change)}")


def _member(old: Any, new: Any, known: FieldType | None, order: Any) -> Any:
    if isinstance(new, dict):
        inner = _inner_struct(known.type) if known is not None else None
        if known is not None and "replace" in known.strategy:
            return _clean(new)
        base = old if isinstance(old, dict) else {}
        if old is None and new.get(_PATCH) is None:
            base = {}
        return _object(base, new, inner)
    if isinstance(new, list):
        merges = known is not None and "merge" in known.strategy
        if not merges or known is None:
            return _clean(new)
        return _list(old if isinstance(old, list) else [], new, known, order)
    return new


def _inner_struct(kind: ValueType) -> StructType | None:
    if kind.form is Form.STRUCT:
        return kind.struct
    return None


def _list(old: list[Any], new: list[Any], known: FieldType, order: Any) -> list[Any]:
    if not known.merge_key:
        merged = [*old, *(each for each in new if each not in old)]
        return _ordered(merged, order if isinstance(order, list) else new, known, old)
    if any(isinstance(each, dict) and each.get(_PATCH) == "replace" for each in new):
        return [_clean(each) for each in new if each.get(_PATCH) != "replace"]
    key = known.merge_key
    if order is not None:
        _check_marks(order, known)
        _check_order(new, order, key)
    inner = known.type.item.struct if known.type.item is not None else None
    merged = list(old)
    for each in new:
        if not isinstance(each, dict):
            lists = go_value([old, new])
            raise internal(f"list element types are not identical: {lists}")
        if each.get(_PATCH) == "merge":
            raise internal("merging lists cannot yet be specified in the patch")
        if key not in each:
            raise internal(f"map: {go_value(each)} does not contain declared merge key: {key}")
        place = next((at for at, item in enumerate(merged) if _key(item, key) == each[key]), None)
        if each.get(_PATCH) == "delete":
            merged = [item for item in merged if _key(item, key) != each[key]]
        elif place is None:
            merged.append(_object({}, each, inner))
        else:
            merged[place] = _object(merged[place], each, inner)
    if not isinstance(order, list):
        order = [each for each in new if each.get(_PATCH) != "delete"]
    return _ordered(merged, order, known, old)


def _check_marks(order: Any, known: FieldType | None) -> None:
    """Refuse an order that is no list, or whose items have no merge key."""
    if not isinstance(order, list):
        kind = reflected_type(order)
        raise internal(f"expected a []interface {{}}, but received a {kind}")
    keyed = known is not None and known.merge_key
    if keyed and not all(isinstance(each, dict) for each in order):
        index = next(at for at, each in enumerate(order) if not isinstance(each, dict))
        raise internal(f"value for key {index} is not a map")


def _check_order(new: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch whose items are not in the order that it demands."""
    wanted = [_key(each, key) for each in order]
    stated = [
        _key(each, key)
        for each in new
        if isinstance(each, dict) and each.get(_PATCH) not in ("delete", "replace")
    ]
    positions = [wanted.index(each) for each in stated if each in wanted]
    if positions != sorted(positions) or any(each not in wanted for each in stated):
        raise internal(
            f"The order in patch list:\n{go_value(new)}\n doesn't match $setElementOrder list:\n"
            f"{go_value(order)}\n"
        )


def _ordered(
    items: list[Any], order: list[Any], known: FieldType | None, before: list[Any] | None = None
) -> list[Any]:
    """Items in a demanded order; others keep their place among those that were there before.

    Args:
        items: the merged items.
        order: the demanded order, or the items of the patch.
        known: the field of the list.
        before: the list before the patch; default: ``items``.
    """
    key = known.merge_key if known is not None else ""
    wanted = [_key(each, key) if key else each for each in order]
    past = [_key(each, key) if key else each for each in (items if before is None else before)]
    marks = [_key(each, key) if key else each for each in items]
    named = sorted(
        (index for index, mark in enumerate(marks) if mark in wanted),
        key=lambda index: wanted.index(marks[index]),
    )
    others = [index for index, mark in enumerate(marks) if mark not in wanted]
    result: list[Any] = []
    while named or others:
        if not named or (others and _precedes(marks[others[0]], marks[named[0]], past)):
            result.append(items[others.pop(0)])
        else:
            result.append(items[named.pop(0)])
    return result


def _precedes(one: Any, two: Any, order: list[Any]) -> bool:
    return one in order and two in order and order.index(one) < order.index(two)


def _key(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


def _remove(merged: Json, name: str, gone: Any) -> None:
    if isinstance(merged.get(name), list) and isinstance(gone, list):
        merged[name] = [each for each in merged[name] if each not in gone]


def _clean(value: Any) -> Any:
    """A value without nulls and directives."""
    if isinstance(value, dict):
        return {
            key: _clean(each)
            for key, each in value.items()
            if each is not None and not key.startswith("$")
        }
    return [_clean(each) for each in value] if isinstance(value, list) else value
