"""Manifests: YAML or JSON texts with several objects, converted to the JSON of each object."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from stretto.api.codec import without_nulls
from stretto.api.edit import yaml_text
from stretto.api.edit.skipped import SkippedObjects, skip_reason
from stretto.api.kinds.entry import ManifestUse
from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import Kind
from stretto.api.wire.limits import measured
from stretto.base.errors import InputError, suggestion


class _Stated(NamedTuple):
    """An object in decoded form."""

    #: Its ``apiVersion``.
    api_version: str
    #: Its ``kind``.
    kind: str
    #: The whole object.
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
    text: str | bytes,
    where: str,
    *,
    skipped: SkippedObjects | None = None,
    any_kind: bool = False,
    raw: Collection[tuple[str, str]] = (),
) -> list[Manifest]:
    """Return every object of a YAML or JSON text, with lists expanded.

    Null members count as absent and are removed, as in Kubernetes.

    Args:
        text: the text.
        where: name of the file, for messages.
        skipped: counts skipped objects: kinds that are not scheduled, and unknown CRDs. If None,
            such objects are errors.
        any_kind: accept objects of every kind, even unknown kinds. By default, a kind that the
            table of kinds does not allow in manifests is an error.
        raw: groups and kinds that are accepted although the table does not contain them.

    Raises:
        InputError: the text is malformed, or a kind is not accepted.
    """
    found = []
    for place, value in _documents(text, where):
        for each in _unfolded(value, place):
            kind = TABLE.of(each.api_version, each.kind, lenient=True)
            wanted = any_kind or (kind.group, kind.kind) in raw
            why = skip_reason(kind) if skipped is not None and not wanted else ""
            if skipped is not None and why:
                skipped.add(kind, why)
            else:
                found.append(_manifest(each, kind, wanted=wanted))
    return found


def _documents(text: str | bytes, where: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a text.

    If it looks like JSON, JSON is tried first, because it is faster.
    """
    looks_like_json = text.lstrip()[:1] in ("{", b"{")
    if looks_like_json and len(text) <= yaml_text.MAX_FILE_BYTES:
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            return iter([(where, msgspec.json.decode(text))])
    return yaml_text.load_documents(text, where)


def _unfolded(value: Any, where: str, api_version: str = "", kind: str = "") -> Iterator[_Stated]:
    """Yield the objects in a value; ``kind`` is the kind of the items of a typed list."""
    if not isinstance(value, dict):
        raise InputError(where, value, "an object with apiVersion and kind")
    api_version = _word(value, "apiVersion", where, api_version)
    kind = _word(value, "kind", where, kind)
    if not _is_list(api_version, kind, value):
        yield _Stated(api_version, kind, value, where)
        return
    item_kind = kind.removesuffix("List")
    items = value.get("items") or []
    if not isinstance(items, list):
        raise InputError(f"{where}: items", items, "a list of objects")
    for index, item in enumerate(items):
        place = f"{where}: items[{index}]"
        if item is not None:
            yield from _unfolded(item, place, api_version if item_kind else "", item_kind)


def _is_list(api_version: str, kind: str, value: Mapping[str, Any]) -> bool:
    """Return whether an object is a list: ``List``, the list of a known kind, or one with items."""
    if (api_version, kind) == ("v1", "List"):
        return True
    item_kind = kind.removesuffix("List")
    if item_kind in (kind, ""):
        return False
    known = TABLE.of(api_version, item_kind, lenient=True) in TABLE
    return known or isinstance(value.get("items"), list)


def _manifest(stated: _Stated, kind: Kind, *, wanted: bool) -> Manifest:
    """Encode one object as JSON, after a check of its size and depth."""
    if not wanted:
        _check_kind(stated, kind)
    where = stated.where
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **stated.value}
    try:
        body = msgspec.json.encode(without_nulls(whole))
    except (OverflowError, RecursionError) as error:
        raise InputError(where, "a number or depth beyond JSON", "a Kubernetes object") from error
    return Manifest(kind, measured(body, where))


def _check_kind(stated: _Stated, kind: Kind) -> None:
    """Refuse a kind that manifests must not contain; the error suggests the nearest kinds."""
    if kind in TABLE and TABLE.entry(kind).manifests is ManifestUse.TAKEN:
        return
    error = TABLE.unknown(stated.api_version, stated.kind)
    served = [
        f"{entry.kind.api_version} {entry.kind.kind}"
        for entry in TABLE.entries()
        if entry.kind.kind == stated.kind and entry.manifests is ManifestUse.TAKEN
    ]
    hint = suggestion(error.nearest, "remove it, or correct apiVersion and kind")
    if served:
        hint = f"this version is not served; use {' or '.join(served)}"
    raise InputError(f"{stated.where}: kind", error.name, "a known kind", hint)


def _word(value: dict[str, Any], name: str, where: str, default: str) -> str:
    """Return ``apiVersion`` or ``kind`` of an object."""
    found = value.get(name, default) or default
    if not isinstance(found, str) or not found:
        hint = "every object has apiVersion and kind"
        raise InputError(f"{where}: {name}", found or None, "a text", hint)
    return found
