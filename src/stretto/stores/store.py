"""The contract of every object store.

Memory, SQLite and a Kubernetes API server implement it and pass one test suite
(``tests/contract``). Three guarantees matter to the scheduler:

- the reply to every write is ``ok``, ``conflict``, ``refused`` or ``unknown``; after *unknown* the
  object must be read back before the next decision about it;
- versions increase with every write, and a watch from a version yields each later change of its
  kind once and in order, or raises ``TooOldError``;
- records are immutable: a change creates a new record.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum, IntEnum
from typing import Any, Protocol

import msgspec

from stretto.api.edit.patch import PatchType
from stretto.api.types.heads import PodHead
from stretto.api.wire.kinds import Kind
from stretto.api.wire.shards import ObjectShard
from stretto.stores.capabilities import Capabilities


class WriteOutcome(Enum):
    """Result of one write."""

    #: The write is done, and durable if the store is.
    OK = "ok"
    #: The object differs from the writer's assumption (version, uid, or already bound elsewhere).
    CONFLICT = "conflict"
    #: The write is not allowed or not valid; the same write fails again.
    REFUSED = "refused"
    #: The reply was lost: read the object back before the next decision.
    UNKNOWN = "unknown"


class StatusReason(Enum):
    """Reason of a failed write, as in a Kubernetes status."""

    NONE = ""
    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    CONFLICT = "Conflict"
    INVALID = "Invalid"
    FORBIDDEN = "Forbidden"
    TOO_MANY_REQUESTS = "TooManyRequests"
    NO_SPACE = "NoSpace"
    TIMEOUT = "Timeout"
    UNAVAILABLE = "ServiceUnavailable"
    INTERNAL = "InternalError"


class Record(msgspec.Struct, frozen=True, gc=False):
    """One version of one object.

    ``body`` is the object's JSON as written. The other fields override the body when the object is
    rendered (``render``), so a bind creates a small record over the same body, and a million pods
    of one template share one body.
    """

    #: Kind of the object.
    kind: Kind
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str
    #: Name within kind and namespace.
    name: str
    #: Unique identity, never reused.
    uid: str
    #: Store-wide version of this state of the object.
    version: int
    #: JSON of the object; may be shared by many records.
    body: bytes
    #: Node of a bound pod; empty otherwise. Overrides ``spec.nodeName`` of the body.
    node: str = ""
    #: Annotations written by the bind (chosen devices and the like); override the body's.
    annotations: Mapping[str, str] | None = None
    #: RFC 3339 creation time.
    created: str = ""
    #: RFC 3339 deletionTimestamp while finalizers delay the deletion; empty otherwise.
    deleting: str = ""


class EventType(IntEnum):
    """Type of a watch event."""

    ADDED = 0
    MODIFIED = 1
    DELETED = 2
    #: No change; the version up to which the watch is complete.
    BOOKMARK = 3


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One change of one object, in the order of versions."""

    #: Type of the change.
    type: EventType
    #: The object after the change; for a deletion its last state with the version of the deletion.
    record: Record
    #: The head of the pod if the store has decoded it; ``None``: decode when needed. Pods that
    #: differ only in their names may share one head, which then has an empty name.
    head: PodHead | None = None
    #: True if only the node and the annotations of a bind changed.
    bind: bool = False


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer to one write."""

    #: Result.
    outcome: WriteOutcome
    #: Reason of the failure.
    code: StatusReason = StatusReason.NONE
    #: Remedy, for users.
    message: str = ""
    #: The object after the write (ok), or its current state (conflict, if known). An API server
    #: returns no object after a bind or an eviction, and only the identity of a deleted object.
    record: Record | None = None
    #: Seconds before the next attempt, if the store returned a delay (429).
    retry_after: float | None = None


class Update(msgspec.Struct, frozen=True, gc=False):
    """Replace an object by a complete new body; the writer preserves unknown fields."""

    #: Namespace of the object.
    namespace: str
    #: Name of the object.
    name: str
    #: The new JSON.
    body: bytes
    #: Required current version; ``None`` for any.
    version: int | None = None
    #: True if the body also replaces the status, the node and the generation, as in writes of an
    #: API server. Only embedded stores support it.
    whole: bool = False
    #: RFC 3339 deletionTimestamp to set; only with ``whole``.
    deleting: str = ""
    #: True if the object is deleted, with the body as its last state; only with ``whole``.
    ends: bool = False


class Patch(msgspec.Struct, frozen=True, gc=False):
    """Change a part of an object by a patch on its raw JSON."""

    #: Namespace of the object.
    namespace: str
    #: Name of the object.
    name: str
    #: The patch, as parsed JSON.
    patch: Mapping[str, Any]
    #: Required current version; ``None`` for any.
    version: int | None = None
    #: Required uid; empty for any.
    uid: str = ""
    #: RFC 7386 merge, or strategic merge, in which lists such as conditions merge by their key. An
    #: API server supports strategic merge for built-in kinds only. With the capability ``applies``
    #: also server-side apply: the patch contains all fields of this client and takes them from
    #: other managers; fields of its last patch that are missing from this one are removed.
    type: PatchType = PatchType.MERGE

    @property
    def applies(self) -> bool:
        """Return whether the patch is a server-side apply."""
        return self.type is PatchType.APPLY


class Deletion(msgspec.Struct, frozen=True, gc=False):
    """Delete an object."""

    #: Namespace of the object.
    namespace: str
    #: Name of the object.
    name: str
    #: Required uid; empty for any.
    uid: str = ""
    #: Required version; ``None`` for any.
    version: int | None = None


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Bind a pod to a node; a conflict unless the uid matches and the pod has no node yet."""

    #: Namespace of the pod.
    namespace: str
    #: Name of the pod.
    name: str
    #: Uid of the scheduled pod (never that of another pod with the same name).
    uid: str
    #: Node to bind to; it must exist.
    node: str
    #: Annotations to write with the bind (chosen devices), or ``None``.
    annotations: Mapping[str, str] | None = None


class Eviction(msgspec.Struct, frozen=True, gc=False):
    """Evict a pod; refused with TOO_MANY_REQUESTS if a disruption budget forbids it.

    An API server adds the condition ``DisruptionTarget``, which policies of Jobs read, to the pod.
    """

    #: Namespace of the pod.
    namespace: str
    #: Name of the pod.
    name: str
    #: Uid of the pod.
    uid: str
    #: Reason, for the event and the history.
    reason: str = ""
    #: True if the node may not run the pod yet. An API server evicts such a pod without a
    #: condition, so the client writes the condition.
    starting: bool = False
    #: True to evict the pod even if a budget forbids it: kube-scheduler's last resort.
    beyond_budget: bool = False


class WriteVerb(Enum):
    """Verb of a write."""

    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    PATCH_STATUS = "patch status"
    DELETE = "delete"
    BIND = "bind"
    EVICT = "evict"


WriteItem = bytes | Update | Patch | Deletion | Bind | Eviction
"""One item of a write: the JSON of a new object, or a change of an existing one."""


class Write(msgspec.Struct, frozen=True, gc=False):
    """A batch of writes of one verb, to be sent without waiting for the replies."""

    #: The verb; it determines the type of the items.
    verb: WriteVerb
    #: Kind of the objects.
    kind: Kind
    #: The items; each gets one reply.
    items: Sequence[WriteItem]


class Listing(msgspec.Struct, frozen=True, gc=False):
    """Result of a list."""

    #: The records, ordered by namespace and name.
    records: Sequence[Record]
    #: Store version that the list reflects: watch from here.
    version: int
    #: Token of the next page; empty on the last page.
    next_page: str = ""


class ListOptions(msgspec.Struct, frozen=True, gc=False):
    """Selection of a list or a watch."""

    #: Namespace; empty for all.
    namespace: str = ""
    #: Label selector in string form; empty for all.
    labels: str = ""
    #: Field selector in string form: metadata.name and .namespace, spec.nodeName, status.phase.
    fields: str = ""
    #: Maximum number of records; 0 for all. Lists only.
    limit: int = 0
    #: Token of the page to continue with. Lists only.
    page: str = ""
    #: True if the watch yields BOOKMARK events. Watches only.
    bookmarks: bool = False
    #: The part of the objects; ``None`` for all.
    shard: ObjectShard | None = None


EVERYTHING = ListOptions()
"""Selects all objects of a kind."""


Replies = list[Reply]
"""The replies to a batch, in its order. The alias exists because ``Store.list`` hides ``list``."""

UnitReplies = list[Replies]
"""The replies to units of binds, in their order."""

ChangeCallback = Callable[[Kind], None]
"""Called with the kind whose objects have changed. A store behind a network calls it from its own
thread, so it must be short and thread-safe."""


class Watch(Protocol):
    """A stream of the changes of one kind; the reader polls it and never blocks."""

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """Return the next changes, oldest first, at most ``limit``; empty if there are none.

        Raises:
            TooOldError: the history that this watch needs is gone; list again.
        """
        ...

    def close(self) -> None:
        """Stop watching; later polls return nothing."""
        ...


class Store(Protocol):
    """An object store with optimistic concurrency. Every write is a batch with one reply per item.

    Each write exists in two forms: a method that waits for the replies, and ``begin``, which sends
    the batch and returns a future. An embedded store returns a finished future.
    """

    @property
    def capabilities(self) -> Capabilities:
        """The optional guarantees of this store."""
        ...

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``.

        Wait while the store is temporarily unreachable.
        """
        ...

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the same as ``get``, without waiting, for callers that do not need the object.

        Raises:
            UnreachableError: the store does not answer.
        """
        ...

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of a kind."""
        ...

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Watch changes of the selected objects of a kind after version ``since``.

        An object that enters the selection yields ADDED. An object that leaves it yields DELETED
        with its last selected state and the version of the change.

        Raises:
            InputError: a selector is malformed.
        """
        ...

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` whenever a watch of a kind may have changes to poll.

        Returns a function that ends the subscription. Only a store with the capability ``notifies``
        calls it; otherwise every watch must be polled.
        """
        ...

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects; the store assigns uid, version and creation time."""
        ...

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects; their status does not change."""
        ...

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        ...

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change only the status of objects, and annotations of pods."""
        ...

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects; those with finalizers are only marked."""
        ...

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes; an existing binding of the same uid to the same node is ``ok``."""
        ...

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units; the replies are in their order.

        With the capability ``binds_units`` each unit is bound as a whole or not at all, in one
        transaction. Otherwise pods are bound one by one.
        """
        ...

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        ...

    def begin(self, write: Write) -> Future[Replies]:
        """Send a batch without waiting; the replies are those of the method with the same verb."""
        ...

    def allowances(self) -> Mapping[str, int]:
        """Disruptions that each disruption budget allows now, by uid of the budget.

        Empty without the capability ``counts_disruptions``.
        """
        ...

    def close(self) -> None:
        """Release files and connections; nothing acknowledged is lost."""
        ...


def is_temporary(reply: Reply) -> bool:
    """Return whether a failed write may succeed later: unknown, unavailable or throttled.

    A refusal by a disruption budget has no delay and is not temporary.
    """
    return (
        reply.outcome is WriteOutcome.UNKNOWN
        or reply.code in (StatusReason.UNAVAILABLE, StatusReason.INTERNAL, StatusReason.TIMEOUT)
        or (reply.code is StatusReason.TOO_MANY_REQUESTS and reply.retry_after is not None)
    )


def bind_each(store: Store, units: Sequence[Sequence[Bind]]) -> UnitReplies:
    """Bind the pods of units one by one, for a store without transactions over several objects."""
    replies = iter(store.bind([bind for unit in units for bind in unit]))
    return [[next(replies) for _ in unit] for unit in units]
