"""Labels, unit and age of an object, from its metadata."""

from typing import Final

import msgspec

from stretto.api.types.heads import decode_object_head, decode_pod_head
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.control.dispatcher.membership import Membership, MembershipReader
from stretto.stores.store import Record


def pod_meta(record: Record, reader: MembershipReader) -> tuple[dict[str, str], Membership]:
    """Labels and unit of a pod.

    Raises:
        InputError: the object is malformed.
    """
    meta = decode_pod_head(record.body).metadata
    return labels_of(record), reader.membership(meta)


def labels_of(record: Record) -> dict[str, str]:
    """Labels of an object; empty if they are malformed."""
    try:
        raw = bytes(decode_object_head(record.body).metadata.labels)
        return msgspec.json.decode(raw, type=dict[str, str]) if raw else {}
    except (InputError, msgspec.DecodeError):
        return {}


_WALL: Final = 1e9
"""Smallest value in seconds that counts as wall time, including clocks that are ahead of this one.
"""


def age_of(record: Record, at: float | None) -> float | None:
    """Seconds since the creation of an object; ``None`` if the state has no wall time."""
    if at is None or not record.created:
        return None
    try:
        age = at - parse_timestamp(record.created)
    except InputError:
        return None
    if at >= _WALL:
        return max(0.0, age)
    return age if age >= 0 else None
