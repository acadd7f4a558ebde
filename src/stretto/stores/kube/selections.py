"""Selections of a list or a watch: their query, and the objects that a server did not filter."""

from typing import Final

import msgspec

from stretto.api.wire.fields import parse_fields
from stretto.api.wire.selectors import parse_labels
from stretto.api.wire.shards import ObjectShard
from stretto.stores.store import ListOptions


class _PlacedMeta(msgspec.Struct, frozen=True, gc=False):
    """The place of an object."""

    namespace: str = ""
    name: str = ""


class _PlacedObject(msgspec.Struct, frozen=True, gc=False):
    """An object of which only the place is decoded."""

    metadata: _PlacedMeta


_PLACED: Final = msgspec.json.Decoder(_PlacedObject)


def check_selection(selection: ListOptions) -> None:
    """Reject a malformed selector before it is sent.

    Raises:
        InputError: a selector is malformed.
    """
    parse_labels(selection.labels)
    parse_fields(selection.fields)


def selection_query(selection: ListOptions) -> dict[str, str]:
    """The query of a selection, except namespace and page."""
    selectors = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
    shard = selection.shard.query() if selection.shard is not None else {}
    return {name: value for name, value in selectors.items() if value} | shard


def is_foreign(shard: ObjectShard | None, raw: bytes | msgspec.Raw) -> bool:
    """Return whether an object belongs to another shard.

    Only the metadata is decoded: a server that does not know the options of shards, such as
    kube-apiserver, returns the objects of all shards. A malformed object is not foreign; its reader
    reports the error.
    """
    if shard is None:
        return False
    try:
        found = _PLACED.decode(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return not shard.holds(found.namespace, found.name, raw)
