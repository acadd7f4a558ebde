"""What every Kubernetes object carries: identity, labels, owners, conditions, selectors.

The selector structs live here because objects of every group carry them; what they mean is in
``selectors``.
"""

from typing import Final

import msgspec

NO_TEXTS: Final[dict[str, str]] = {}
"""The default of labels and their like; msgspec gives each object its own."""


class Wire(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """The common shape of all wire types.

    Frozen, because decisions are made on snapshots; not tracked by the garbage collector, because
    wire objects hold no circles; defaults are left out when written, as Go's ``omitempty`` does.
    """


class OwnerReference(Wire, frozen=True):
    """The object that this one belongs to, and dies with."""

    #: Group and version of the owner.
    api_version: str = ""
    #: Kind of the owner.
    kind: str = ""
    #: Name of the owner, in the same namespace or cluster-scoped.
    name: str = ""
    #: Identity of the owner; a namesake with another uid is another owner.
    uid: str = ""
    #: Whether this owner manages the object; at most one does.
    controller: bool = False
    #: Whether the owner's foreground deletion waits for this object.
    block_owner_deletion: bool = False


class ObjectMeta(Wire, frozen=True):
    """Identity and bookkeeping of any object."""

    #: Name, unique within kind and namespace; empty when ``generate_name`` asks for one.
    name: str = ""
    #: Prefix from which the store makes a name when ``name`` is empty.
    generate_name: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Identity for life; empty before the store has given one.
    uid: str = ""
    #: Opaque version of the stored object, for optimistic writes; empty in manifests.
    resource_version: str = ""
    #: Counts the changes of the spec; 0 before the store has counted.
    generation: int = 0
    #: RFC 3339 time of creation; absent before the store has set one.
    creation_timestamp: str | None = None
    #: RFC 3339 time at which deletion was asked for; absent while the object is wanted.
    deletion_timestamp: str | None = None
    #: Seconds that a deletion leaves for a clean end.
    deletion_grace_period_seconds: int | None = None
    #: Labels: what selectors select by.
    labels: dict[str, str] = NO_TEXTS
    #: Annotations: what tools note down; Gödel's wire contract lives here.
    annotations: dict[str, str] = NO_TEXTS
    #: Owners; the one with ``controller`` manages the object.
    owner_references: tuple[OwnerReference, ...] = ()
    #: Names that must leave this list before a deletion is final.
    finalizers: tuple[str, ...] = ()
    #: Who set which field, as raw JSON: bookkeeping of the API server that we only carry.
    managed_fields: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ObjectReference(Wire, frozen=True):
    """Names another object."""

    #: Group and version.
    api_version: str = ""
    #: Kind.
    kind: str = ""
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str = ""
    #: Name.
    name: str = ""
    #: Identity; empty when any namesake is meant.
    uid: str = ""
    #: Version that was meant.
    resource_version: str = ""
    #: Part of the object, for example one container.
    field_path: str = ""


class Condition(Wire, frozen=True):
    """One observed aspect of an object, as every status lists them."""

    #: Which aspect: ``PodScheduled``, ``Ready``, ... Unique in its list.
    type: str
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""
    #: CamelCase word for machines: why the status is what it is.
    reason: str = ""
    #: Sentence for humans.
    message: str = ""
    #: Generation of the object on which this was observed.
    observed_generation: int = 0
    #: RFC 3339 time of the last change of ``status``.
    last_transition_time: str | None = None
    #: RFC 3339 time at which a pod's condition was last probed.
    last_probe_time: str | None = None
    #: RFC 3339 time at which a node last reported this condition.
    last_heartbeat_time: str | None = None


class SelectorRequirement(Wire, frozen=True):
    """One rule on one key: of a label selector or of a node selector."""

    #: Label key (or field name) that the rule is about.
    key: str
    #: ``In``, ``NotIn``, ``Exists``, ``DoesNotExist``; on nodes also ``Gt`` and ``Lt``.
    operator: str
    #: Values to compare with; none for the two existence rules, one integer for Gt and Lt.
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    """Labels that must all hold. Empty selects everything; an absent one selects nothing."""

    #: Labels with exactly these values.
    match_labels: dict[str, str] = NO_TEXTS
    #: Rules that must hold besides.
    match_expressions: tuple[SelectorRequirement, ...] = ()


class NodeSelectorTerm(Wire, frozen=True):
    """Rules that a node must meet together. A term without rules matches no node."""

    #: Rules on the node's labels.
    match_expressions: tuple[SelectorRequirement, ...] = ()
    #: Rules on the node's fields; Kubernetes knows ``metadata.name`` only.
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    """Alternatives: a node is selected when it meets any one term."""

    #: The alternatives.
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
