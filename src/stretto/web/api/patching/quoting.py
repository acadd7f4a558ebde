"""Patched objects as quoted in messages: in the order in which kube-apiserver's library writes.

The library (gopkg.in/evanphx/json-patch.v4) decodes only the maps that a patch reaches, and writes
them with sorted keys. Everything else keeps its text: that of the object, whose members have the
order of Go's types, or that of the patch.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from stretto.api.edit.json_patch import operate, pointer_parts, value_at
from stretto.api.schema.golang import html_escaped
from stretto.api.schema.ordering import in_order
from stretto.api.schema.types import StructType
from stretto.api.wire.values import PLAIN, copied

Json = dict[str, Any]


class _Opened(dict[str, Any]):
    """A map that the library has decoded."""


def written_merge(item: Json, change: Any, struct: StructType | None) -> Any:
    """Return an object with a merge patch, with its members in the order of the text.

    Args:
        item: the object before the patch.
        change: the merge patch.
        struct: type of the object; ``None`` for a custom resource, whose text is sorted.
    """
    if isinstance(change, list):
        return _closed(_sorted(change, keeps_nulls=False))
    return _closed(_merged(in_order(item, struct), change))


def written_operations(item: Json, operations: Iterable[Json], struct: StructType | None) -> Any:
    """Return an object with the operations of a JSON patch, with members in the order of the text.

    Args:
        item: the object before the patch.
        operations: the operations, which apply.
        struct: type of the object; ``None`` for a custom resource, whose text is sorted.
    """
    document: Json = _Opened(in_order(item, struct))
    for each in operations:
        source = str(each.get("from", ""))
        _open(document, source)
        if each.get("op") == "copy":  # a copy has the text of its source, with sorted keys
            value = _closed(value_at(document, source))
            operate(document, [{"op": "add", "path": each.get("path", ""), "value": value}])
        else:
            operate(document, [copied(each)])
        path = str(each.get("path", ""))
        owner = _open(document, path)
        if each.get("op") == "test" and path:
            key = pointer_parts(path)[-1]
            place = int(key) if isinstance(owner, list) else key
            owner[place] = _sorted(owner[place])
    return _closed(document)


def json_of(value: Any) -> str:
    """Return JSON with the escapes of Go."""
    return html_escaped(msgspec.json.encode(value)).decode()


def _merged(target: Any, change: Any) -> Any:
    """Return a value with a merge patch; a new value of the patch is decoded completely."""
    if not isinstance(target, dict):
        return _sorted(change, keeps_nulls=False)
    if not isinstance(change, dict):
        return change
    merged = _Opened(target)
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged


def _sorted(value: Any, *, keeps_nulls: bool = True) -> Any:
    """Return a value whose maps are all decoded."""
    if isinstance(value, list):
        return [_sorted(each, keeps_nulls=keeps_nulls) for each in value]
    if not isinstance(value, dict):
        return value
    kept = ((name, each) for name, each in value.items() if keeps_nulls or each is not None)
    return _Opened((name, _sorted(each, keeps_nulls=keeps_nulls)) for name, each in kept)


def _open(document: Json, path: str) -> Any:
    """Mark the maps above the value at a pointer as decoded; return the innermost container."""
    owner: Any = document
    for part in pointer_parts(path)[:-1]:
        key = int(part) if isinstance(owner, list) else part
        if type(owner[key]) is dict:
            owner[key] = _Opened(owner[key])
        owner = owner[key]
    return owner


def _closed(value: Any) -> Any:
    """Return a copy of a value with the keys of decoded maps in their order.

    The maps above a decoded one are decoded too, so there are none below other maps.
    """
    if isinstance(value, list):
        return [each if type(each) in PLAIN else _closed(each) for each in value]
    if isinstance(value, _Opened):
        parts = ((name, value[name]) for name in sorted(value))
        return {name: each if type(each) in PLAIN else _closed(each) for name, each in parts}
    return copied(value)
