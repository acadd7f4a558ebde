"""Resources in messages: read from both of Mesos' formats, written in three.

The older format has ``role`` and ``reservation``, the newer one a stack of ``reservations``; the
operator's interfaces use both. The texts are those of Mesos' errors.
"""

import math
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import msgspec

from stretto.offers.allocator.values import ranges
from stretto.offers.master.resources.items import (
    KNOWN,
    MILLI,
    Item,
    ItemKind,
    ResourceList,
    Value,
    of,
)
from stretto.offers.messages.schema import Message

LARGEST: Final = 10**18
"""Thousandths that stand for an infinite scalar."""
_PLAIN: Final = frozenset({"name", "type", "scalar", "ranges", "set", "allocation_info"})
"""Fields of an agent's own resources that are neither reserved nor volumes."""
_ENCODER = msgspec.json.Encoder(order="sorted")


class ResourceFormat(Enum):
    """Format of reservations."""

    #: A stack of ``reservations``: frameworks with RESERVATION_REFINEMENT.
    STACK = "stack"
    #: ``role`` and ``reservation``: other frameworks.
    ROLE = "role"
    #: Both: the operator's interfaces.
    BOTH = "both"


def upgraded(resource: Message) -> Message:
    """A resource with a stack of reservations instead of ``role`` and ``reservation``."""
    if "role" not in resource and "reservation" not in resource:
        return resource
    if "reservations" in resource or resource.get("role", "*") == "*":
        return {key: value for key, value in resource.items() if key not in ("role", "reservation")}
    dynamic = "reservation" in resource
    kind = {"type": "DYNAMIC" if dynamic else "STATIC", "role": resource["role"]}
    reservation = resource.get("reservation", {}) | kind
    kept = {key: value for key, value in resource.items() if key not in ("role", "reservation")}
    return kept | {"reservations": [reservation]}


def read(resources: Iterable[Message]) -> ResourceList:
    """The list of valid resources of a message."""
    return of(_item(upgraded(each)) for each in resources)


def write(resources: ResourceList, form: ResourceFormat = ResourceFormat.STACK) -> list[Message]:
    """The resources of a message."""
    return [_message(item, form) for item in resources.items]


def text(resources: ResourceList) -> str:
    """The text for errors; ``{}`` for an empty list."""
    return "; ".join(item_text(item) for item in resources.items) or "{}"


def message_text(resource: Message) -> str:
    """The text of one resource of a message, valid or not."""
    return item_text(_item(upgraded(resource)))


def item_text(item: Item) -> str:
    """The text of one item, such as ``cpus(allocated: web):1``."""
    kind = item.kind
    parts = [kind.name]
    if kind.allocated is not None:
        parts.append(f"(allocated: {kind.allocated})")
    if kind.reservations:
        stack = ",".join(f"({_reservation_text(each)})" for each in kind.reservations)
        parts.append(f"(reservations: [{stack}])")
    if kind.disk:
        parts.append(f"[{_disk_text(kind.disk_info)}]")
    parts += ["{REV}"] * kind.revocable + ["<SHARED>"] * kind.shared
    return "".join(parts) + ":" + value_text(item.value)


def value_text(value: Value) -> str:
    """The text of an amount."""
    if isinstance(value, int):
        return number_text(value / MILLI)
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(value)) + "}"
    return "[" + ", ".join(f"{begin}-{end}" for begin, end in value) + "]"


def number_text(number: float) -> str:
    """A number with up to 15 significant digits, in Mesos' format of doubles."""
    return f"{number:.15g}"


def quantities_text(quantities: dict[str, int]) -> str:
    """Amounts by name, in the order of their names: ``cpus:1; mem:2``."""
    parts = (f"{name}:{number_text(quantities[name] / MILLI)}" for name in sorted(quantities))
    return "; ".join(parts)


def milli(number: float) -> int:
    """Thousandths of a scalar, rounded to the nearest, away from zero on ties."""
    if math.isnan(number):
        return 0
    scaled = min(abs(number) * MILLI, LARGEST)
    return int(scaled + 0.5) if number >= 0 else -int(scaled + 0.5)


def _item(resource: Message) -> Item:
    if resource.keys() <= _PLAIN:
        role = resource.get("allocation_info", {}).get("role")
        return Item(_plain(resource["name"], resource["type"], role), _value(resource))
    kind = ItemKind(
        name=resource["name"],
        type=resource["type"],
        allocated=resource.get("allocation_info", {}).get("role"),
        reservations=tuple(_canonical(each) for each in resource.get("reservations", ())),
        disk=_canonical(resource["disk"]) if "disk" in resource else "",
        revocable="revocable" in resource,
        shared="shared" in resource,
        provider=resource.get("provider_id", {}).get("value", ""),
    )
    return Item(kind, _value(resource))


@lru_cache(KNOWN)
def _plain(name: str, kind: str, role: str | None) -> ItemKind:
    return ItemKind(name, kind, role)


def without_volume(resource: Message) -> Message:
    """Return the disk space of a volume."""
    plain = {key: value for key, value in resource.items() if key not in ("disk", "shared")}
    source = resource.get("disk", {}).get("source")
    return plain | ({"disk": {"source": source}} if source else {})


def _value(resource: Message) -> Value:
    kind = resource["type"]
    if kind == "SCALAR":
        return milli(resource.get("scalar", {}).get("value", 0.0))
    if kind == "RANGES":
        found = resource.get("ranges", {}).get("range", ())
        return ranges.normalize((int(each["begin"]), int(each["end"])) for each in found)
    return frozenset(resource.get("set", {}).get("item", ()))


def _message(item: Item, form: ResourceFormat) -> Message:
    kind = item.kind
    message: dict[str, Any] = {"name": kind.name, "type": kind.type}
    if isinstance(item.value, int):
        message["scalar"] = {"value": item.value / MILLI}
    elif isinstance(item.value, frozenset):
        message["set"] = {"item": sorted(item.value)}
    else:
        pairs = [{"begin": begin, "end": end} for begin, end in item.value]
        message["ranges"] = {"range": pairs}
    message |= _reserved(kind, form)
    if kind.allocated is not None:
        message["allocation_info"] = {"role": kind.allocated}
    if kind.disk:
        message["disk"] = kind.disk_info
    message |= {"revocable": {}} if kind.revocable else {}
    message |= {"shared": {}} if kind.shared else {}
    message |= {"provider_id": {"value": kind.provider}} if kind.provider else {}
    return message


def _reserved(kind: ItemKind, form: ResourceFormat) -> Message:
    """The fields that describe reservations."""
    stack = [msgspec.json.decode(each) for each in kind.reservations]
    fields: Message = {"reservations": stack} if stack and form is not ResourceFormat.ROLE else {}
    if form is ResourceFormat.STACK or len(stack) > 1:
        return fields | ({"reservations": stack} if stack else {})
    fields["role"] = kind.role
    if kind.dynamic:
        kept = {key: stack[0][key] for key in ("principal", "labels") if key in stack[0]}
        fields["reservation"] = kept
    return fields


def _canonical(message: Message) -> str:
    return _ENCODER.encode(message).decode()


def _reservation_text(reservation: str) -> str:
    fields = msgspec.json.decode(reservation)
    text = f"{fields.get('type', 'UNKNOWN')},{fields.get('role', '')}"
    if "principal" in fields:
        text += "," + fields["principal"]
    if "labels" in fields:
        text += "," + _labels_text(fields["labels"])
    return text


def _labels_text(labels: Message) -> str:
    parts = (
        each["key"] + (f": {each['value']}" if "value" in each else "")
        for each in labels.get("labels", ())
    )
    return "{" + ", ".join(parts) + "}"


def _disk_text(disk: Message) -> str:
    text = ""
    if "source" in disk:
        source = disk["source"]
        kind = source.get("type", "UNKNOWN")
        root = source.get(kind.lower(), {}).get("root")
        if "id" in source or "profile" in source:
            names = (source.get(key, "") for key in ("vendor", "id", "profile"))
            text = f"{kind}({','.join(names)})"
        else:
            text = kind + (f":{root}" if root is not None else "")
    if "persistence" in disk:
        text += ("," if text else "") + str(disk["persistence"]["id"])
    if "volume" in disk:
        volume = disk["volume"]
        path = volume.get("container_path", "")
        if "host_path" in volume:
            mode = f":{volume['mode'].lower()}" if "mode" in volume else ""
            path = f"{volume['host_path']}:{path}{mode}"
        text += ":" + path
    return text
