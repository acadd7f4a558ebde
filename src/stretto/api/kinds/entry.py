"""One entry of the table of kinds: the facts about a kind that need no higher layer."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire

KEEP_ALL: Final = ("*",)
"""The value of ``KindEntry.kept`` that keeps every field."""
READERS: Final = ("scheduler", "reads", "reader", "tides")
"""ClusterRoles that list and watch every kind with ``examined``."""
PLANNERS: Final = ("reader",)
"""ClusterRoles that list and watch every kind with ``admits``."""
DEFAULT_RANK: Final = 50
"""Rank of kinds that need no particular order."""


class ManifestUse(Enum):
    """What the readers of manifests do with objects of a kind."""

    #: The object becomes part of the input.
    TAKEN = "taken"
    #: The object is left out: it has no effect on scheduling.
    SKIPPED = "skipped"
    #: The object is an error, like one of an unknown kind.
    REFUSED = "refused"


class Column(msgspec.Struct, frozen=True):
    """One printer column, as in ``additionalPrinterColumns`` of a CRD."""

    #: Heading.
    name: str
    #: JSONPath of the value, with the leading dot.
    path: str
    #: OpenAPI type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``.
    type: str = "string"
    #: 0 for the normal view; greater values appear in the wide view only.
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
    #: True if the bare name belongs to another kind, so that ``word`` has the group.
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
    #: What the readers of manifests do with objects.
    manifests: ManifestUse = ManifestUse.TAKEN
    #: True if the pump always watches the kind.
    watched: bool = False
    #: True if the pump watches the kind where the rules of a profile read it.
    referenced: bool = False
    #: True if the scheduler writes an Event on an object that it cannot use.
    warned: bool = False
    #: True if only the controller role sees objects.
    controller_only: bool = False
    #: True if the scheduler computes the status, so that a replay does not copy it.
    status_computed: bool = False
    #: True if explain and what-if list the kind in a live cluster.
    examined: bool = False
    #: True if what-if alone lists the kind in a live cluster: a verb tries it, or the admission of
    #: other objects reads it.
    admits: bool = False
    #: True if a recording holds the kind.
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
        """The name of the kind in files: ``Pod``, ``PodGroup.scheduling.k8s.io``."""
        kind = self.kind
        return f"{kind.kind}.{kind.group}" if self.qualified and kind.group else kind.kind

    @property
    def has_status(self) -> bool:
        """Return whether the status is a subresource, which writes of the object leave alone."""
        return "status" in self.subresources

    def all_grants(self) -> tuple[Grant, ...]:
        """Every right that Stretto needs on this kind."""
        reads = READERS if self.examined else PLANNERS * self.admits
        return (*(Grant(role, ("list", "watch")) for role in reads), *self.grants)


def grant(roles: str, verbs: str, subresource: str = "") -> tuple[Grant, ...]:
    """Grants of the same verbs to several roles; words are separated by spaces."""
    return tuple(Grant(role, tuple(verbs.split()), subresource) for role in roles.split())
