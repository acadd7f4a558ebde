"""Digests and versions that show if a member's object is still as the controller wrote it."""

import hashlib
from typing import Any

import msgspec

from stretto.reconcile.cache import StoredObject
from stretto.stores.generation import is_counted


def digest(value: Any) -> str:
    """A digest of JSON, independent of the order of members."""
    text = msgspec.json.encode(value, order="deterministic")
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def version_of(present: StoredObject) -> str:
    """The version of a member's object: ``gen:`` if its kind counts changes of the spec."""
    record = present.record
    if is_counted(record.kind):
        return f"gen:{present.metadata.get('generation', 0)}"
    return f"rv:{record.version}"
