"""Conversions of resources by operations."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.messages.schema import Message

Change: TypeAlias = Callable[[Message], Message]
"""Function that changes the form of one resource."""


class Conversion(NamedTuple):
    """Resources before and after an operation."""

    #: Consumed resources.
    before: ResourceList
    #: Produced resources.
    after: ResourceList


def conversions_of(operation: Message) -> list[Conversion]:
    """The conversions of a valid operation other than a launch, one per resource."""
    kind = operation["type"]
    body = operation[kind.lower()]
    if kind == "RESERVE":
        return [_reversed(each, _without_reservation) for each in body["resources"]]
    if kind == "UNRESERVE":
        return [_changed(each, _without_reservation) for each in body["resources"]]
    if kind == "CREATE":
        return [_reversed(each, formats.without_volume) for each in body["volumes"]]
    if kind == "DESTROY":
        return [_changed(each, formats.without_volume) for each in body["volumes"]]
    volume = formats.read([body["volume"]])
    if kind == "GROW_VOLUME":
        grown = _resized(body["volume"], body["addition"]["scalar"]["value"])
        return [Conversion(volume + formats.read([body["addition"]]), grown)]
    less = body["subtract"]["value"]
    freed = formats.without_volume(body["volume"]) | {"scalar": {"value": less}}
    return [Conversion(volume, _resized(body["volume"], -less) + formats.read([freed]))]


def converted(
    resources: ResourceList, conversions: Iterable[Conversion]
) -> tuple[ResourceList, str | None]:
    """The resources after conversions, and an error if not all of them are possible."""
    for before, after in conversions:
        if not resources.contains(before):
            error = f"{formats.text(resources)} does not contain {formats.text(before)}"
            return resources, error
        resources = resources - before + after
    return resources, None


def _changed(resource: Message, change: Change) -> Conversion:
    resource = formats.upgraded(resource)
    return Conversion(formats.read([resource]), formats.read([change(resource)]))


def _reversed(resource: Message, change: Change) -> Conversion:
    given, plain = _changed(resource, change)
    return Conversion(plain, given)


def _without_reservation(resource: Message) -> Message:
    """The resource without its innermost reservation."""
    stack = resource.get("reservations", [])[:-1]
    plain = {key: value for key, value in resource.items() if key != "reservations"}
    return plain | ({"reservations": stack} if stack else {})


def _resized(volume: Message, by: float) -> ResourceList:
    return formats.read([volume | {"scalar": {"value": volume["scalar"]["value"] + by}}])
