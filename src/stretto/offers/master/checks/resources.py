"""Checks of resources in messages."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from stretto.base.amounts import add_amounts
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.roles import is_below, role_error
from stretto.offers.messages.schema import Message

_FORMAT: Final = "Invalid resource format: "


def list_error(resources: Iterable[Message]) -> str | None:
    """The first invalid resource, with its text; ``None`` if there is none."""
    for resource in resources:
        error = resource_error(resource)
        if error:
            return f"Resource '{formats.message_text(resource)}' is invalid: {error}"
    return None


def resource_error(resource: Message) -> str | None:
    """Error in one resource; ``None`` if it is valid."""
    if not resource["name"]:
        return "Empty resource name"
    return (
        _value_error(resource)
        or _disk_source_error(resource)
        or _reservations_error(resource)
        or _shared_error(resource)
    )


def use_error(resources: Sequence[Message]) -> str | None:
    """Error in the resources of a task, an executor or an operation; ``None`` if valid."""
    error = list_error(resources)
    if error:
        return f"Invalid resources: {error}"
    read = formats.read(resources)
    if read.scalars().get("gpus", 0) % 1000:
        return "Invalid 'gpus' resource: The 'gpus' resource must be an unsigned integer"
    error = next((each for each in map(_disk_error, resources) if each), None)
    if error:
        return f"Invalid DiskInfo: {error}"
    for item in read:
        if item.kind.dynamic and item.kind.revocable:
            return (
                f"Invalid ReservationInfo: Dynamically reserved resource {formats.item_text(item)}"
                " cannot be created from revocable resources"
            )
    return None


def unique_volumes_error(resources: ResourceList) -> str | None:
    """Error about two persistent volumes of one role with the same id; ``None`` if valid."""
    found: set[tuple[str, str]] = set()
    for item in resources:
        if item.kind.persistent:
            volume = item.kind.disk_info["persistence"]["id"]
            if (item.kind.role, volume) in found:
                return f"Persistence ID '{volume}' is not unique"
            found.add((item.kind.role, volume))
    return None


def single_role_error(resources: Iterable[Message]) -> str | None:
    """Error about resources that are not allocated to one role; ``None`` if there is none."""
    role: str | None = None
    for resource in resources:
        allocated = resource.get("allocation_info", {}).get("role")
        if allocated is None:
            return "The resources are not allocated to a role"
        if role is not None and allocated != role:
            return (
                f"The resources have multiple allocation roles ('{allocated}' and '{role}')"
                " but only one allocation role is allowed"
            )
        role = allocated
    return None


def mixed_revocable_error(resources: ResourceList) -> str | None:
    """Error about a mix of revocable and other resources of one name; ``None`` if there is none."""
    kinds: dict[str, set[bool]] = {}
    for item in resources:
        kinds.setdefault(item.kind.name, set()).add(item.kind.revocable)
    mixed = next((name for name, found in kinds.items() if len(found) > 1), None)
    if mixed is None:
        return None
    return f"Cannot use both revocable and non-revocable '{mixed}' at the same time"


def volumes_error(volumes: Iterable[Message]) -> str | None:
    """Error about a resource that is not a persistent volume; ``None`` if there is none."""
    for volume in volumes:
        disk = volume.get("disk")
        if disk is None:
            return f"Resource {formats.message_text(volume)} does not have DiskInfo"
        if "persistence" not in disk:
            return "'persistence' is not set in DiskInfo"
        if "volume" not in disk:
            return "Expecting 'volume' to be set for persistent volume"
        if disk["volume"].get("mode") == "RO":
            return "Read-only persistent volume not supported"
    return None


def providers_error(resources: Sequence[Message]) -> str | None:
    """Error about resources of several providers; ``None`` if there is none."""
    ids = [each.get("provider_id", {}).get("value") for each in resources]
    if len(set(ids)) == 1:
        return None
    if None in ids:
        return "Some resources have a resource provider and some do not"
    return "The resources have multiple resource providers: " + ", ".join(dict.fromkeys(ids))


def overlap(lists: Sequence[ResourceList]) -> bool:
    """True if ranges or sets of several lists overlap."""
    apart: dict[str, int] = {}
    together = ResourceList()
    for each in lists:
        together = together + each
        add_amounts(apart, each.quantities().items())
    return apart != together.quantities()


def id_error(value: str) -> str | None:
    """Error in the id of a task, an executor or a volume; ``None`` if it is valid."""
    if not value:
        return "ID must not be empty"
    if len(value) > 255:
        return "ID must not be greater than 255 characters"
    if value in (".", ".."):
        return f"'{value}' is disallowed"
    if any(each in "/\\" or ord(each) < 32 or ord(each) == 127 for each in value):
        return f"'{value}' contains invalid characters"
    return None


def _value_error(resource: Message) -> str | None:
    kind = resource["type"]
    given = {name for name in ("scalar", "ranges", "set") if name in resource}
    expected = {"SCALAR": "scalar", "RANGES": "ranges", "SET": "set"}.get(kind)
    if expected is None:
        return "Unsupported resource type"
    if given != {expected}:
        return f"Invalid {expected} resource"
    if kind == "SCALAR":
        value = resource["scalar"]["value"]
        if math.isnan(value) or (value != 0 and formats.milli(value) <= 0):
            return "Invalid scalar resource: value <= 0"
        return None
    if kind == "SET":
        items = resource["set"].get("item", [])
        return (
            None if len(items) == len(set(items)) else "Invalid set resource: duplicated elements"
        )
    return _ranges_error([(e["begin"], e["end"]) for e in resource["ranges"].get("range", ())])


def _ranges_error(ranges: list[tuple[int, int]]) -> str | None:
    for index, (begin, end) in enumerate(ranges):
        if begin > end:
            return "Invalid ranges resource: begin > end"
        if any(begin <= other <= end for other, _ in ranges[index + 1 :]):
            return "Invalid ranges resource: overlapping ranges"
    return None


def _disk_source_error(resource: Message) -> str | None:
    if "disk" not in resource:
        return None
    if resource["name"] != "disk":
        return f"DiskInfo should not be set for {resource['name']} resource"
    source = resource["disk"].get("source", {"type": "PATH"})
    kind = source.get("type", "UNKNOWN")
    if kind in ("BLOCK", "RAW"):
        for name in ("mount", "path"):
            if name in source:
                return f"{name.title()} should not be set for {kind} disk source"
    if kind == "UNKNOWN":
        return "Unsupported 'DiskInfo.Source.Type' in 'UNKNOWN'"
    return None


def _reservations_error(resource: Message) -> str | None:
    stack = resource.get("reservations", [])
    if not stack:
        return _older_error(resource)
    return (
        next(filter(None, map(_reservation_error, stack)), None)
        or next(_refinement_errors(stack), None)
        or (_single_error(resource, stack[0]) if len(stack) == 1 else _many_error(resource))
    )


def _older_error(resource: Message) -> str | None:
    """Error in ``role`` and ``reservation``; ``None`` if they are valid."""
    role = resource.get("role", "*")
    error = role_error(role)
    if error or "reservation" not in resource:
        return error
    for name in ("type", "role"):
        if name in resource["reservation"]:
            return (
                f"'Resource.ReservationInfo.{name}' must not be set for the"
                " 'Resource.reservation' field"
            )
    if role == "*":
        return 'Invalid reservation: role "*" cannot be dynamically reserved'
    return None


def _reservation_error(reservation: Message) -> str | None:
    for name in ("type", "role"):
        if name not in reservation:
            return f"Invalid reservation: 'Resource.ReservationInfo.{name}' field must be set."
    error = role_error(reservation["role"])
    if error:
        return error
    if reservation["role"] == "*":
        return 'Invalid reservation: role "*" cannot be reserved'
    return None


def _refinement_errors(stack: list[Message]) -> Iterator[str]:
    for outer, inner in pairwise(stack):
        if inner["type"] == "STATIC":
            yield "Invalid refined reservation: A refined reservation cannot be STATIC"
        if not is_below(inner["role"], outer["role"]):
            yield (
                f"Invalid refined reservation: role '{inner['role']}' is not a refinement of"
                f" '{outer['role']}'"
            )


def _single_error(resource: Message, reservation: Message) -> str | None:
    """Error in a resource with one reservation, perhaps in both formats."""
    if "role" in resource and resource["role"] != reservation["role"]:
        return (
            f"{_FORMAT}'Resource.role' field with '{resource['role']}' does not match the role"
            f" '{reservation['role']}' in 'Resource.reservations'"
        )
    if reservation["type"] == "STATIC" and "reservation" in resource:
        return (
            f"{_FORMAT}'Resource.reservation' must not be set if the single reservation in"
            " 'Resource.reservations' is STATIC"
        )
    if reservation["type"] == "DYNAMIC" and ("role" in resource) != ("reservation" in resource):
        return (
            f"{_FORMAT}'Resource.role' and 'Resource.reservation' must either be both set or both"
            " not set if the single reservation in 'Resource.reservations' is DYNAMIC"
        )
    if reservation["type"] == "UNKNOWN":
        return "Unsupported 'Resource.ReservationInfo.Type'"
    return None


def _many_error(resource: Message) -> str | None:
    for name in ("role", "reservation"):
        if name in resource:
            return (
                f"{_FORMAT}'Resource.{name}' must not be set if there is more than one reservation"
                " in 'Resource.reservations'"
            )
    return None


def _shared_error(resource: Message) -> str | None:
    if "shared" not in resource:
        return None
    if resource["name"] != "disk":
        return f"Resource {resource['name']} cannot be shared"
    if "persistence" not in resource.get("disk", {}):
        return "Only persistent volumes can be shared"
    return None


def _disk_error(resource: Message) -> str | None:
    disk = resource.get("disk")
    if disk is None:
        return None
    if "persistence" not in disk:
        if "volume" in disk:
            return "Non-persistent volume not supported"
        return None if "source" in disk else "DiskInfo is set but empty"
    if "revocable" in resource:
        return "Persistent volumes cannot be created from revocable resources"
    if not formats.upgraded(resource).get("reservations"):
        return "Persistent volumes cannot be created from unreserved resources"
    if "volume" not in disk:
        return "Expecting 'volume' to be set for persistent volume"
    if "host_path" in disk["volume"]:
        return "Expecting 'host_path' to be unset for persistent volume"
    error = id_error(disk["persistence"]["id"])
    return f"Invalid persistence ID for persistent volume: {error}" if error else None


def used_by_error(user: str, messages: Sequence[Message]) -> str | None:
    """Error in the resources of a task or an executor, the capitalised ``user``."""
    error = use_error(messages)
    if error:
        return f"{user} uses invalid resources: {error}"
    resources = formats.read(messages)
    error = unique_volumes_error(resources)
    if error:
        return f"{user} uses duplicate persistence ID: {error}"
    error = single_role_error(messages)
    if error:
        return f"Invalid {user.lower()} resources: {error}"
    error = mixed_revocable_error(resources)
    return f"{user} mixes revocable and non-revocable resources: {error}" if error else None
