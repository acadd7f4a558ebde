"""Manifests: texts of humans with many objects, to the JSON of each, and back to a text."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.codec import parse_object, without_nulls
from stretto.api.edit import yaml_text
from stretto.api.wire.kinds import KINDS, Kind, kind_of
from stretto.api.wire.limits import measured
from stretto.base.errors import InputError, UnknownNameError

_FIRST: Final = ("apiVersion", "kind", "metadata", "spec", "status")
"""What a human looks for, in this order; other members follow by name."""

_LISTS: Final = {(kind.api_version, f"{kind.kind}List"): kind for kind in KINDS}


class _Stated(NamedTuple):
    """An object as it stands in a text."""

    #: Its ``apiVersion``.
    api_version: str
    #: Its ``kind``.
    kind: str
    #: All of it.
    value: dict[str, Any]
    #: File, document and item.
    where: str


class Manifest(NamedTuple):
    """One object of a manifest."""

    #: Its kind.
    kind: Kind
    #: Its JSON, with ``apiVersion`` and ``kind``.
    body: bytes


def load_manifests(
    text: str | bytes, where: str, passed_over: Collection[str] = ()
) -> list[Manifest]:
    """Every object of a YAML or JSON text, lists unfolded; ``where`` is the file's name.

    Null members count as absent and are left out, as in Kubernetes. Objects of a kind that is to be
    passed over are left out; any other unknown kind is refused.
    """
    return [
        _manifest(each)
        for place, value in _documents(text, where)
        for each in _unfolded(value, place)
        if each.kind not in passed_over
    ]


def _documents(text: str | bytes, where: str) -> Iterator[tuple[str, Any]]:
    """The values of a text. What looks like JSON is tried as JSON first: it is faster."""
    looks_like_json = text.lstrip()[:1] in ("{", b"{")
    if looks_like_json and len(text) <= yaml_text.MAX_FILE_BYTES:
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            return iter([(where, msgspec.json.decode(text))])
    return yaml_text.load_documents(text, where)


def _unfolded(value: Any, where: str, api_version: str = "", kind: str = "") -> Iterator[_Stated]:
    """The objects in a value; ``kind`` is what the items of a typed list are."""
    if not isinstance(value, dict):
        raise InputError(where, value, "an object with apiVersion and kind")
    api_version = _word(value, "apiVersion", where, api_version)
    kind = _word(value, "kind", where, kind)
    listed = _LISTS.get((api_version, kind))
    if listed is None and (api_version, kind) != ("v1", "List"):
        yield _Stated(api_version, kind, value, where)
        return
    items = value.get("items") or []
    if not isinstance(items, list):
        raise InputError(f"{where}: items", items, "a list of objects")
    for index, item in enumerate(items):
        place = f"{where}: items[{index}]"
        if isinstance(item, dict) and item.get("kind") == "List":
            raise InputError(place, "a List", "an object", "lists inside lists are not read")
        yield from _unfolded(
            item, place, api_version if listed else "", listed.kind if listed else ""
        )


def _manifest(stated: _Stated) -> Manifest:
    """One object, as JSON that has been measured."""
    kind, where = _kind(stated), stated.where
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **stated.value}
    try:
        body = msgspec.json.encode(without_nulls(whole))
    except (OverflowError, RecursionError) as error:
        raise InputError(where, "a number or depth beyond JSON", "a Kubernetes object") from error
    return Manifest(kind, measured(body, where))


def _kind(stated: _Stated) -> Kind:
    """The kind of an object; one that nobody knows is refused with the nearest."""
    try:
        return kind_of(stated.api_version, stated.kind)
    except UnknownNameError as error:
        near = " or ".join(error.nearest)
        hint = f"did you mean {near}?" if near else "leave it out, or mend apiVersion and kind"
        raise InputError(f"{stated.where}: kind", error.name, "a known kind", hint) from error


def _word(value: dict[str, Any], name: str, where: str, default: str) -> str:
    """``apiVersion`` or ``kind`` of an object."""
    found = value.get(name, default) or default
    if not isinstance(found, str) or not found:
        hint = "every object says apiVersion and kind"
        raise InputError(f"{where}: {name}", found or None, "a text", hint)
    return found


def dump_yaml(body: bytes) -> str:
    """An object as YAML for humans, in canonical order: equal objects give equal texts."""
    return yaml_text.dump_document(_ordered(parse_object(body, "object"), _FIRST))


def dump_manifests(bodies: list[bytes]) -> str:
    """Many objects as one text of many documents."""
    return "---\n".join(dump_yaml(body) for body in bodies)


def _ordered(value: Any, first: tuple[str, ...] = ("name",)) -> Any:
    """A copy with the members of objects in canonical order."""
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: (_rank(name, first), name))
    return {name: _ordered(value[name]) for name in names}


def _rank(name: str, first: tuple[str, ...]) -> int:
    return first.index(name) if name in first else len(first)
