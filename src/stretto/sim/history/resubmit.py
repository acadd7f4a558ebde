"""Objects of a store, prepared for creation in the sandbox of a forecast."""

from collections.abc import Iterator
from math import ceil, inf, isfinite

import msgspec

from stretto.api.codec import set_fields
from stretto.api.kinds.table import all_kinds
from stretto.api.types.heads import NO_BYTES, decode_pod_head
from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.control.dispatcher.membership import DURATION, group_unit, read_duration
from stretto.plane.plane import Plane
from stretto.stores.store import Record, Store


def other_objects(store: Store) -> Iterator[Record]:
    """All objects except pods."""
    for kind in all_kinds():
        if kind is not POD:
            yield from store.list(kind).records


def body_of(record: Record) -> bytes:
    """A pod's body with its own name, because pods that differ only in names share one body."""
    name, namespace = ("metadata", "name"), ("metadata", "namespace")
    return set_fields(record.body, {name: record.name, namespace: record.namespace})


def with_remaining_time(record: Record, plane: Plane, created: float) -> bytes:
    """An object's body; the timeout of a pending PodGroup is set to its remaining time.

    Args:
        record: the object.
        plane: the plane whose units have the deadlines.
        created: time of the new creation, in seconds of the plane's clock.
    """
    if record.kind is not POD_GROUP:
        return record.body
    unit = plane.units.by_identity.get(group_unit(f"{record.namespace}/{record.name}"))
    if unit is None or not isfinite(unit.deadline):
        return record.body
    remaining = max(1, ceil(unit.deadline - created))
    return set_fields(record.body, {("spec", "scheduleTimeoutSeconds"): remaining})


def stated_run_time(record: Record) -> float:
    """The run time in seconds from a pod's annotation; infinity if there is none."""
    notes = decode_pod_head(record.body).metadata.annotations
    if notes is NO_BYTES or DURATION not in bytes(notes).decode():
        return inf
    written = msgspec.json.decode(bytes(notes), type=dict[str, str])
    return read_duration(written.get(DURATION, ""))[0]
