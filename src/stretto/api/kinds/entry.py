"""One entry of the table of kinds: the facts about a kind that do not depend on higher layers."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire

KEEP_ALL: Final = ("*",)
"""Value of ``KindEntry.kept`` that keeps every field."""
READERS: Final = ("scheduler", "reads", "reader", "tides")
"""ClusterRoles that list and watch every kind with ``examined``."""
PLANNERS: Final = ("reader",)
"""ClusterRoles that list and watch every kind with ``admits``."""
DEFAULT_RANK: Final = 50
"""Rank of kinds that need no particular order."""


class ManifestUse(Enum):
    """Treatment of a kind's objects in manifests."""

    #: Objects become part of the input.
    TAKEN = "taken"
    #: Objects are skipped, because they have no effect on scheduling.
    SKIPPED = "skipped"
    #: Objects are errors, like those of an unknown kind.
    REFUSED = "refused"


class Column(msgspec.Struct, frozen=True):
    """One printer column, as in ``additionalPrinterColumns`` of a CRD."""

    #: Heading.
    name: str
    #: JSONPath of the value, with the leading dot.
    path: str
    #: OpenAPI type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``.
    type: str = "string"
    #: 0 for the normal view; columns with greater values appear only in the wide view.
    priority: int = 0


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
"""The last column of most kinds."""


class Grant(msgspec.Struct, frozen=True):
    """Verbs that a role of Stretto needs on a kind."""

    #: Role without the prefix ``stretto-``, for example ``binder``.
    role: str
    #: Verbs of RBAC.
    verbs: tuple[str, ...]
    #: Subresource; empty for the object itself.
    subresource: str = ""


class KindEntry(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about one kind."""

    #: Group, version, kind, plural and scope.
    kind: Kind
    #: True if another kind owns the bare name, so that ``word`` includes the group.
    qualified: bool = False
    #: Name in the singular, lower case; empty for the kind in lower case.
    singular_name: str = ""
    #: Short names of kubectl.
    short_names: tuple[str, ...] = ()
    #: Categories of kubectl, for example ``all``.
    categories: tuple[str, ...] = ()
    #: Subresources: ``status``, ``scale``, ``binding``, ...
    subresources: tuple[str, ...] = ()
    #: Printer columns after the name.
    columns: tuple[Column, ...] = ()
    #: Struct that decodes objects; ``None`` leaves them raw.
    struct: type[Wire] | None = None
    #: Validates a decoded object, given the prefix of paths in messages; ``None`` checks metadata.
    check: Callable[[Any, str], None] | None = None
    #: Position in sequences by dependency: a kind follows the kinds that its objects need.
    rank: int = DEFAULT_RANK
    #: Treatment of the kind's objects in manifests.
    manifests: ManifestUse = ManifestUse.TAKEN
    #: True if the pump always watches the kind.
    watched: bool = False
    #: True if the pump watches the kind when rules of a profile read it.
    referenced: bool = False
    #: True if the scheduler writes an Event about an unusable object.
    warned: bool = False
    #: True if only the controller role reads objects.
    controller_only: bool = False
    #: True if the scheduler computes the status, so that a replay does not copy it.
    status_computed: bool = False
    #: True if explain and what-if list the kind in a live cluster.
    examined: bool = False
    #: True if only what-if lists the kind in a live cluster, for its verbs or for admission.
    admits: bool = False
    #: True if a recording contains the kind.
    recorded: bool = False
    #: Paths of the fields that a recording keeps besides metadata; all others are redacted.
    kept: tuple[str, ...] = ()
    #: Verbs beyond ``list`` and ``watch`` of the readers.
    grants: tuple[Grant, ...] = ()

    @property
    def singular(self) -> str:
        """Name in the singular, lower case."""
        return self.singular_name or self.kind.kind.lower()

    @property
    def word(self) -> str:
        """Name of the kind in files: ``Pod``, ``PodGroup.scheduling.k8s.io``."""
        kind = self.kind
        return f"{kind.kind}.{kind.group}" if self.qualified and kind.group else kind.kind

    @property
    def has_status(self) -> bool:
        """Return whether the status is a subresource, which writes of the object do not change."""
        return "status" in self.subresources

    def all_grants(self) -> tuple[Grant, ...]:
        """Every right on this kind that Stretto needs."""
        reads = READERS if self.examined else PLANNERS * self.admits
        return (*(Grant(role, ("list", "watch")) for role in reads), *self.grants)


def grant(roles: str, verbs: str, subresource: str = "") -> tuple[Grant, ...]:
    """Return grants of the same verbs to several roles; words are separated by spaces."""
    return tuple(Grant(role, tuple(verbs.split()), subresource) for role in roles.split())
