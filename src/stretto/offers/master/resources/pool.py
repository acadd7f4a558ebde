"""Conversion between the master's lists and the allocator's sums of resources.

A list has Mesos' order; a sum has none. An offer has the order of the available resources: first
everything except unreserved scalars, then the unreserved scalars.
"""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from stretto.offers.allocator.values.kinds import (
    DiskSource,
    DiskSourceType,
    DiskVolume,
    Labels,
    ReservationType,
    ResourceIdentity,
    ResourceKind,
    RoleReservation,
    kind_of,
)
from stretto.offers.allocator.values.resources import Resources, sum_of
from stretto.offers.master.resources.items import KNOWN, Item, ItemKind, ResourceList
from stretto.offers.messages.schema import Message


def to_pool(resources: ResourceList) -> Resources:
    """The allocator's sum; allocations to roles are dropped."""
    return sum_of((pool_kind(item), 1 if item.kind.whole else item.value) for item in resources)


def offered(available: ResourceList, granted: Resources, role: str) -> ResourceList:
    """A granted sum in the order of the available resources, allocated to a role."""
    first = [item for item in available if not _is_plain_scalar(item)]
    rest = [item for item in available if _is_plain_scalar(item)]
    return ResourceList(tuple(_granted([*first, *rest], granted, role)))


def pool_kind(item: Item) -> ResourceKind:
    """The allocator's kind of an item."""
    kind = item.kind
    return _pool_kind(kind, item.value if kind.whole and isinstance(item.value, int) else 0)


@lru_cache(KNOWN)
def _pool_kind(kind: ItemKind, whole: int) -> ResourceKind:
    disk = kind.disk_info
    identity = ResourceIdentity(
        name=kind.name,
        reservations=tuple(_reservation(each) for each in kind.reservations),
        source=_source(disk["source"]) if "source" in disk else None,
        volume=_volume(disk) if "persistence" in disk else None,
        revocable=kind.revocable,
        shared=kind.shared,
        provider=kind.provider or None,
        whole=whole,
    )
    return kind_of(identity)


def _granted(items: list[Item], granted: Resources, role: str) -> Iterator[Item]:
    left = dict(granted.entries)
    for item in items:
        kind = pool_kind(item)
        value = left.get(kind)
        if not value:
            continue
        allocated = item.kind.allocated_to(role)
        if kind.whole and isinstance(value, int):
            left[kind] = value - 1
            yield Item(allocated, kind.whole)
        else:
            del left[kind]
            yield Item(allocated, value)


def _is_plain_scalar(item: Item) -> bool:
    kind = item.kind
    return isinstance(item.value, int) and not kind.reservations and not kind.revocable


def _reservation(text: str) -> RoleReservation:
    fields: Message = msgspec.json.decode(text)
    kind = ReservationType(fields.get("type", "DYNAMIC"))
    return RoleReservation(
        kind, fields["role"], fields.get("principal"), _labels(fields.get("labels", {}))
    )


def _labels(labels: Message) -> Labels:
    return tuple((each["key"], each.get("value")) for each in labels.get("labels", ()))


def _source(source: Message) -> DiskSource:
    kind = source.get("type", "PATH")
    return DiskSource(
        type=DiskSourceType(kind),
        root=source.get(kind.lower(), {}).get("root"),
        id=source.get("id"),
        profile=source.get("profile"),
        vendor=source.get("vendor"),
        metadata=_labels(source.get("metadata", {})),
    )


def _volume(disk: Message) -> DiskVolume:
    persistence, volume = disk["persistence"], disk.get("volume", {})
    return DiskVolume(
        id=persistence["id"],
        principal=persistence.get("principal"),
        container_path=volume.get("container_path", ""),
        mode=volume.get("mode", "RW"),
    )
