"""Access control lists in Mesos' format: actions of principals on objects.

The first entry that matches both the principal and the object decides; without one, ``permissive``
does.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError

ACTIONS: Final[Mapping[str, str]] = {
    "register_frameworks": "roles",
    "teardown_frameworks": "framework_principals",
    "update_quotas": "roles",
    "update_weights": "roles",
    "reserve_resources": "roles",
    "unreserve_resources": "roles",
    "create_volumes": "roles",
    "destroy_volumes": "roles",
    "resize_volumes": "roles",
    "update_maintenance_schedules": "machines",
    "start_maintenances": "machines",
    "stop_maintenances": "machines",
    "mark_agents_gone": "agents",
    "drain_agents": "agents",
    "deactivate_agents": "agents",
    "reactivate_agents": "agents",
    "set_log_level": "level",
}
"""Actions with the field that names their objects."""


class EntityType(Enum):
    """Kinds of values that an entity matches."""

    #: The listed values.
    SOME = "SOME"
    #: Every value.
    ANY = "ANY"
    #: Every value; the action is refused.
    NONE = "NONE"


class AclEntity(msgspec.Struct, frozen=True):
    """Principals or objects of an entry."""

    #: Kind of the matched values.
    type: EntityType = EntityType.SOME
    #: The values of SOME.
    values: frozenset[str] = frozenset()

    def matches(self, value: str) -> bool:
        """True if the entity matches a value."""
        return self.type is not EntityType.SOME or value in self.values


class AclEntry(msgspec.Struct, frozen=True):
    """One entry of an action."""

    #: The principals.
    principals: AclEntity
    #: The objects.
    objects: AclEntity


class Acls(msgspec.Struct, frozen=True):
    """All entries."""

    #: The result if no entry matches.
    permissive: bool = True
    #: Entries by action, in their given order.
    entries: Mapping[str, tuple[AclEntry, ...]] = {}

    def allows(self, action: str, principal: str | None, objects: Iterable[str]) -> bool:
        """True if a principal may act on all objects; ``None`` for an unauthenticated client."""
        return all(self._allows(action, principal or "", each) for each in objects)

    def _allows(self, action: str, principal: str, value: str) -> bool:
        for entry in self.entries.get(action, ()):
            if entry.principals.matches(principal) and entry.objects.matches(value):
                return EntityType.NONE not in (entry.principals.type, entry.objects.type)
        return self.permissive


def read_acls(path: Path) -> Acls:
    """The lists of a JSON file.

    Raises:
        InputError: the file cannot be read, or an action, an entry or an entity is malformed.
    """
    try:
        given = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise InputError("--acls", str(path), f"a JSON object of lists: {error}") from error
    permissive = given.pop("permissive", True)
    unknown = next((each for each in given if each not in ACTIONS), None)
    if unknown is not None:
        raise InputError(f"{path}: {unknown}", None, f"one of {', '.join(sorted(ACTIONS))}")
    entries = {action: tuple(_entries(path, action, given[action])) for action in given}
    if not isinstance(permissive, bool):
        raise InputError(f"{path}: permissive", permissive, "true or false")
    return Acls(permissive, entries)


def _entries(path: Path, action: str, listed: Any) -> Iterable[AclEntry]:
    field = ACTIONS[action]
    try:
        for each in msgspec.convert(listed, list[dict[str, AclEntity]]):
            yield AclEntry(each["principals"], each[field])
    except (msgspec.ValidationError, KeyError) as error:
        expected = f'entries {{"principals": ..., "{field}": ...}}: {error}'
        raise InputError(f"{path}: {action}", None, expected) from error
