"""The identity of a resource: everything except its amount.

Kinds are interned: equal kinds are one object, so that sums look them up by identity.
"""

from enum import Enum
from typing import Final
from weakref import WeakValueDictionary

import msgspec

Labels = tuple[tuple[str, str | None], ...]
"""Keys with optional values, in their given order."""


class ReservationType(Enum):
    """Origin of a reservation."""

    #: The configuration of the agent.
    STATIC = "STATIC"
    #: A framework or an operator.
    DYNAMIC = "DYNAMIC"


class RoleReservation(msgspec.Struct, frozen=True):
    """A reservation of resources to a role; a stack of reservations refines the role."""

    #: Its origin.
    type: ReservationType
    #: The role.
    role: str
    #: The principal that created it.
    principal: str | None = None
    #: Labels of the principal.
    labels: Labels = ()


class DiskSourceType(Enum):
    """The source of the space of a disk."""

    #: A directory; any part of it can be used.
    PATH = "PATH"
    #: A mounted file system, which is used as a whole.
    MOUNT = "MOUNT"
    #: A block device, which is used as a whole.
    BLOCK = "BLOCK"
    #: A storage pool, or with an id an existing device.
    RAW = "RAW"


class DiskSource(msgspec.Struct, frozen=True):
    """The source of a disk that is not the agent's own work directory."""

    #: Type.
    type: DiskSourceType
    #: Directory of a PATH or MOUNT disk.
    root: str | None = None
    #: Id from a storage plugin.
    id: str | None = None
    #: Profile of a storage plugin.
    profile: str | None = None
    #: Vendor of a storage plugin.
    vendor: str | None = None
    #: Labels of a storage plugin.
    metadata: Labels = ()


class DiskVolume(msgspec.Struct, frozen=True):
    """A volume on a disk that outlives its tasks."""

    #: Id, unique per role on an agent.
    id: str
    #: The principal that created it.
    principal: str | None = None
    #: Path in the container.
    container_path: str = ""
    #: Mount mode: ``RW`` or ``RO``.
    mode: str = "RW"


class ResourceIdentity(msgspec.Struct, frozen=True):
    """The fields of a kind."""

    #: Name: ``cpus``, ``mem``, ``disk``, ``gpus``, ``ports`` or any other.
    name: str
    #: Reservations, the widest role first; empty for unreserved resources.
    reservations: tuple[RoleReservation, ...] = ()
    #: Source of a disk; ``None`` for the agent's work directory and for other resources.
    source: DiskSource | None = None
    #: Volume on the disk.
    volume: DiskVolume | None = None
    #: True if the agent may revoke it at any time (oversubscription).
    revocable: bool = False
    #: True if several tasks may use it at once.
    shared: bool = False
    #: Id of its resource provider.
    provider: str | None = None
    #: Size in thousandths of an indivisible item; 0 for a divisible resource.
    whole: int = 0


class ResourceKind:
    """An interned identity with precomputed properties for sums and filters."""

    __slots__ = (
        "__weakref__",
        "identity",
        "is_free",
        "name",
        "refined",
        "reserved_to",
        "revocable",
        "shared",
        "whole",
    )

    def __init__(self, identity: ResourceIdentity) -> None:
        """Use `kind_of` instead, because kinds are compared by identity."""
        #: All fields.
        self.identity: Final = identity
        #: Name of the resource.
        self.name: Final = identity.name
        #: The role of the innermost reservation; empty for unreserved resources.
        self.reserved_to: Final = identity.reservations[-1].role if identity.reservations else ""
        #: True if a framework needs RESERVATION_REFINEMENT to read it.
        self.refined: Final = len(identity.reservations) > 1
        #: True if the agent may revoke it.
        self.revocable: Final = identity.revocable
        #: True if several tasks may use it at once.
        self.shared: Final = identity.shared
        #: Size of an indivisible item; 0 for a divisible resource.
        self.whole: Final = identity.whole
        #: True if it is neither reserved nor revocable, so that quota counts its allocations.
        self.is_free: Final = not identity.reservations and not identity.revocable

    def __reduce__(self) -> tuple[object, ...]:
        return (kind_of, (self.identity,))

    def __repr__(self) -> str:
        return f"ResourceKind({self.identity})"


_KINDS: Final[WeakValueDictionary[ResourceIdentity, ResourceKind]] = WeakValueDictionary()


def kind_of(identity: ResourceIdentity) -> ResourceKind:
    """The kind with these fields; equal fields return the same object."""
    found = _KINDS.get(identity)
    if found is None:
        found = _KINDS[identity] = ResourceKind(identity)
    return found
