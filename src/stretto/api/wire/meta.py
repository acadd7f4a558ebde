"""Metadata, conditions, references and selectors: structs in objects of every group.

``wire.selectors`` implements the selectors.
"""

from typing import Final

import msgspec

NO_TEXTS: Final[dict[str, str]] = {}
"""Default of labels and annotations; msgspec copies it for each object."""


class Wire(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """Base class of all wire types.

    Wire objects are frozen, because decisions use snapshots. The garbage collector does not track
    them, because they contain no cycles. Defaults are omitted on output, like ``omitempty`` in Go.
    """


class OwnerReference(Wire, frozen=True):
    """Reference to the owner of an object; the object is deleted with its owner."""

    #: Group and version of the owner.
    api_version: str = ""
    #: Kind of the owner.
    kind: str = ""
    #: Name of the owner, in the same namespace or cluster-scoped.
    name: str = ""
    #: Identity of the owner; an object of the same name with another uid is another owner.
    uid: str = ""
    #: True if this owner manages the object; at most one owner does.
    controller: bool = False
    #: True if a foreground deletion of the owner waits for this object.
    block_owner_deletion: bool = False


class ObjectMeta(Wire, frozen=True):
    """Identity and bookkeeping of an object."""

    #: Name, unique within kind and namespace; empty when ``generate_name`` is set.
    name: str = ""
    #: Prefix from which the store generates a name when ``name`` is empty.
    generate_name: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Identity for life; empty until the store assigns one.
    uid: str = ""
    #: Opaque version of the stored object, for optimistic concurrency; empty in manifests.
    resource_version: str = ""
    #: Number of changes of the spec; 0 until the store maintains it.
    generation: int = 0
    #: RFC 3339 time of creation; absent until the store sets one.
    creation_timestamp: str | None = None
    #: RFC 3339 time of the deletion request; absent without one.
    deletion_timestamp: str | None = None
    #: Grace period in seconds after the deletion request.
    deletion_grace_period_seconds: int | None = None
    #: Labels, for selectors.
    labels: dict[str, str] = NO_TEXTS
    #: Annotations of tools, among them the wire contract of Gödel.
    annotations: dict[str, str] = NO_TEXTS
    #: Owners; the one with ``controller`` manages the object.
    owner_references: tuple[OwnerReference, ...] = ()
    #: Names that must be removed before the object is deleted.
    finalizers: tuple[str, ...] = ()
    #: Field managers as raw JSON; bookkeeping of the API server, not decoded.
    managed_fields: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ObjectReference(Wire, frozen=True):
    """Reference to another object."""

    #: Group and version.
    api_version: str = ""
    #: Kind.
    kind: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Name.
    name: str = ""
    #: Identity; empty for any object with this name.
    uid: str = ""
    #: Version of the object.
    resource_version: str = ""
    #: Part of the object, for example one container.
    field_path: str = ""


class Condition(Wire, frozen=True):
    """One observed aspect of an object, listed in its status."""

    #: The aspect: ``PodScheduled``, ``Ready``, ... Unique in its list.
    type: str
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""
    #: Reason for the status, one CamelCase word for programs.
    reason: str = ""
    #: Reason for the status, as a sentence.
    message: str = ""
    #: Generation of the observed object.
    observed_generation: int = 0
    #: RFC 3339 time of the last change of ``status``.
    last_transition_time: str | None = None
    #: RFC 3339 time of the last probe; pods only.
    last_probe_time: str | None = None
    #: RFC 3339 time of the last report; nodes only.
    last_heartbeat_time: str | None = None


class SelectorRequirement(Wire, frozen=True):
    """One rule about one key, in a label selector or a node selector."""

    #: Label key or field name.
    key: str
    #: ``In``, ``NotIn``, ``Exists``, ``DoesNotExist``; on nodes also ``Gt`` and ``Lt``.
    operator: str
    #: Values to compare with; none for the two existence rules, one integer for Gt and Lt.
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    """A conjunction of rules on labels. Empty matches everything; absent matches nothing."""

    #: Labels with exactly these values.
    match_labels: dict[str, str] = NO_TEXTS
    #: Further rules.
    match_expressions: tuple[SelectorRequirement, ...] = ()


class NodeSelectorTerm(Wire, frozen=True):
    """A conjunction of rules on a node. A term without rules matches no node."""

    #: Rules on the node's labels.
    match_expressions: tuple[SelectorRequirement, ...] = ()
    #: Rules on the fields of the node; Kubernetes supports only ``metadata.name``.
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    """A disjunction: a node is selected when it matches at least one term."""

    #: The alternatives.
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
