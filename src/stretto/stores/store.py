"""The one contract of every store: what Stretto needs of an object store, and no more.

Memory, SQLite and a Kubernetes API server all answer to it and pass one suite of tests
(``tests/contract``). Three promises matter to the laws:

- every write answers ``ok``, ``conflict``, ``refused`` or ``unknown``; *unknown* means that the
  write may or may not have happened and must be read back before anything is decided on it;
- versions rise with every write of the store, and a watch from a version yields each later change
  of its kind once and in order, or says that the history is gone (``TooOldError``);
- records are immutable: a change makes a new record.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum, IntEnum
from typing import Any, Protocol

import msgspec

from stretto.api.edit.patch import PatchType
from stretto.api.types.heads import PodHead
from stretto.api.wire.kinds import Kind
from stretto.stores.capabilities import Capabilities


class WriteOutcome(Enum):
    """What became of one write."""

    #: Done, and durable where the store is.
    OK = "ok"
    #: The object is not as the writer believed (version, uid, or already bound elsewhere).
    CONFLICT = "conflict"
    #: Not allowed or not valid; trying again as it is will not help.
    REFUSED = "refused"
    #: The reply is lost: read the object back before deciding.
    UNKNOWN = "unknown"


class StatusReason(Enum):
    """Why a write did not go through, in Kubernetes' words for its status reasons."""

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
    """One version of one object, as a store keeps it.

    ``body`` is the object's JSON as it was written; name, uid, version and node stand beside it and
    win over it when the object is shown (``render``). So a bind makes a new record of a few
    words over the same body, and a million pods of one template share one body.
    """

    #: Kind of the object.
    kind: Kind
    #: Namespace; empty for cluster-scoped kinds.
    namespace: str
    #: Name within kind and namespace.
    name: str
    #: Identity for life.
    uid: str
    #: Store-wide version of this state of the object.
    version: int
    #: JSON of the object; may be shared by many records.
    body: bytes
    #: Node of a bound pod; empty otherwise. Wins over ``spec.nodeName`` of the body.
    node: str = ""
    #: Annotations written by the bind (chosen devices and the like); win over the body's.
    annotations: Mapping[str, str] | None = None
    #: RFC 3339 creation time.
    created: str = ""
    #: RFC 3339 time of a deletion that was asked for but waits for finalizers; empty otherwise.
    deleting: str = ""


class EventType(IntEnum):
    """What happened to an object."""

    ADDED = 0
    MODIFIED = 1
    DELETED = 2
    #: No change: only says how far the watch has come.
    BOOKMARK = 3


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One change seen by a watch, in the order of versions."""

    #: What happened.
    type: EventType
    #: The object after the change; for a deletion its last state with the deletion's version.
    record: Record
    #: The pod's head where the store has decoded it anyway; ``None`` means decode when needed.
    #: Pods that differ in their names alone may share one, which then has no name.
    head: PodHead | None = None
    #: Nothing changed but what a bind writes: the node and its annotations.
    bind: bool = False


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer to one write."""

    #: What became of it.
    outcome: WriteOutcome
    #: Why it did not go through.
    code: StatusReason = StatusReason.NONE
    #: What to do about it, for people.
    message: str = ""
    #: The object after the write (ok), or as it is now (conflict, when known). An API server shows
    #: none after a bind or an eviction, and only the identity of what it has deleted.
    record: Record | None = None
    #: Seconds after which to try again, where the store said so (429).
    retry_after: float | None = None


class Update(msgspec.Struct, frozen=True, gc=False):
    """Replace an object by a whole new body (unknown fields are the writer's to keep)."""

    #: Namespace of the object.
    namespace: str
    #: Name of the object.
    name: str
    #: The new JSON.
    body: bytes
    #: Version it must have now; ``None`` replaces whatever is there.
    version: int | None = None


class Patch(msgspec.Struct, frozen=True, gc=False):
    """Change part of an object by a patch on its raw JSON."""

    #: Namespace of the object.
    namespace: str
    #: Name of the object.
    name: str
    #: The patch, as parsed JSON.
    patch: Mapping[str, Any]
    #: Version it must have now; ``None`` for any.
    version: int | None = None
    #: Uid it must have; empty for any.
    uid: str = ""
    #: RFC 7386 merge, or strategic merge, in which lists such as conditions merge by their key;
    #: Kubernetes' own kinds only, because an API server knows no keys of others.
    type: PatchType = PatchType.MERGE


class Deletion(msgspec.Struct, frozen=True, gc=False):
    """Remove an object."""

    #: Namespace of the object.
    namespace: str
    #: Name of the object.
    name: str
    #: Uid it must have; empty for any.
    uid: str = ""
    #: Version it must have; ``None`` for any.
    version: int | None = None


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Bind a pod to a node: refused as a conflict unless uid matches and no node is set yet."""

    #: Namespace of the pod.
    namespace: str
    #: Name of the pod.
    name: str
    #: Uid of the pod that was scheduled (never a namesake's).
    uid: str
    #: Node to bind to; it must exist.
    node: str
    #: Annotations to write with the bind (chosen devices), or ``None``.
    annotations: Mapping[str, str] | None = None


class Eviction(msgspec.Struct, frozen=True, gc=False):
    """Ask a pod to leave: refused with TOO_MANY_REQUESTS when a disruption budget forbids it."""

    #: Namespace of the pod.
    namespace: str
    #: Name of the pod.
    name: str
    #: Uid of the pod.
    uid: str
    #: Why, for the event and the story.
    reason: str = ""


class Listing(msgspec.Struct, frozen=True, gc=False):
    """What a list answers."""

    #: The records, ordered by namespace and name.
    records: Sequence[Record]
    #: Store version that the list reflects: watch from here.
    version: int
    #: Token of the next page; empty at the end.
    next_page: str = ""


class ListOptions(msgspec.Struct, frozen=True, gc=False):
    """What to list."""

    #: Only this namespace; empty for all.
    namespace: str = ""
    #: Label selector in string form; empty for all.
    labels: str = ""
    #: Field selector in string form: metadata.name and .namespace, spec.nodeName, status.phase.
    fields: str = ""
    #: At most so many records; 0 for all.
    limit: int = 0
    #: Token of the page to continue with.
    page: str = ""


EVERYTHING = ListOptions()
"""Lists all objects of a kind."""


Replies = list[Reply]
"""The answers to a batch, in its order. It has a name because ``Store.list`` hides ``list``."""

BeginBind = Callable[[Sequence["Bind"]], Future[Replies]]
"""Sends binds and does not wait for the answers."""

BeginPatches = Callable[[Kind, Sequence["Patch"]], Future[Replies]]
"""Sends patches of statuses and does not wait for the answers."""

BeginEvict = Callable[[Sequence["Eviction"]], Future[Replies]]
"""Sends evictions and does not wait for the answers."""

BeginDelete = Callable[[Kind, Sequence["Deletion"]], Future[Replies]]
"""Sends deletions and does not wait for the answers."""

UnitReplies = list[Replies]
"""The answers to units of binds, in their order."""


class Watch(Protocol):
    """A stream of the changes of one kind, polled (never awaited) by its reader."""

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes, oldest first, at most ``limit``; empty when there are none now.

        Raises:
            TooOldError: the history that this watch needs is gone; list afresh.
        """
        ...

    def close(self) -> None:
        """Stop watching; polling afterwards yields nothing."""
        ...


class Store(Protocol):
    """An object store with optimistic concurrency. Every write takes a batch and answers each."""

    @property
    def capabilities(self) -> Capabilities:
        """In which finer promises of the contract this store differs from others."""
        ...

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, or ``None``."""
        ...

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects of a kind that the selection names."""
        ...

    def watch(self, kind: Kind, since: int) -> Watch:
        """Changes of a kind after version ``since``."""
        ...

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Add objects; uid, version and creation time are given by the store."""
        ...

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        ...

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; status is left alone."""
        ...

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects (and annotations of pods); all else is left alone."""
        ...

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Remove objects (those with finalizers are only marked)."""
        ...

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes. Already bound to the wanted node by uid is ``ok``."""
        ...

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        ...

    def close(self) -> None:
        """Let go of files and connections; nothing acknowledged is lost."""
        ...


class PipelinedStore(Store, Protocol):
    """A store behind a network: whoever writes may go on before the answers come."""

    def begin_bind(self, binds: Sequence[Bind]) -> Future[Replies]:
        """Send binds as ``bind`` does; the answers come later."""
        ...

    def begin_patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Future[Replies]:
        """Send patches as ``patch_status`` does; the answers come later."""
        ...

    def begin_evict(self, evictions: Sequence[Eviction]) -> Future[Replies]:
        """Send evictions as ``evict`` does; the answers come later."""
        ...

    def begin_delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Future[Replies]:
        """Send deletions as ``delete`` does; the answers come later."""
        ...


class EmbeddedStore(Store, Protocol):
    """An embedded store: it binds whole units in one transaction and counts budgets itself."""

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units, each with all of its pods or with none; the answers are in their order."""
        ...

    def allowances(self) -> Mapping[str, int]:
        """How many more pods each disruption budget lets go now, by the budget's uid."""
        ...
