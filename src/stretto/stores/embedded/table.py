"""All objects of one kind, and drafts: the changes of one write call.

A write is first drafted, visible only to later items of the same call. Then it is written to the
journal, if the store is durable. Then it is applied and becomes visible to watches at once.
Therefore a batch that fails or is interrupted leaves nothing half done.
"""

from collections.abc import Iterable
from typing import Final, Protocol, cast

from stretto.api.types.heads import PodHead
from stretto.api.wire.kinds import Kind
from stretto.base.errors import ExitCode, StrettoError
from stretto.stores.embedded.history import EventHistory
from stretto.stores.store import EventType, Record, Reply, WatchEvent

Space = dict[str, Record | None]
"""Drafted records of one namespace by name; ``None`` for a deleted one."""

OldRecord = Record | None
"""The record that a change replaces; ``None`` if the change adds one."""

_NOTHING: Final[dict[str, Record]] = {}


class ObjectTable:
    """The objects of one kind by namespace and name, and their recent changes."""

    __slots__ = ("history", "kind", "spaces")

    def __init__(self, kind: Kind, history: EventHistory) -> None:
        #: Kind of all the objects.
        self.kind = kind
        #: Namespace to name to record; cluster-scoped kinds have only the namespace "".
        self.spaces: dict[str, dict[str, Record]] = {}
        #: Recent changes.
        self.history = history

    def find(self, namespace: str, name: str) -> Record | None:
        """Return the object with this name, or ``None``."""
        return self.spaces.get(namespace, _NOTHING).get(name)

    def ordered(self, namespace: str) -> list[Record]:
        """Return the objects of a namespace (of all, if empty) by namespace and name."""
        if namespace:
            return list(self._sorted(namespace).values()) if namespace in self.spaces else []
        return [record for each in sorted(self.spaces) for record in self._sorted(each).values()]

    def apply(self, draft: "TableDraft") -> None:
        """Apply the changes of a draft and show them to watches."""
        for namespace, drafted in draft.staged.items():
            if not drafted:
                continue
            space = self.spaces.setdefault(namespace, {})
            if not draft.removes:
                space.update(cast("dict[str, Record]", drafted))
                continue
            for name, record in drafted.items():
                if record is not None:
                    space[name] = record
                else:
                    space.pop(name, None)
            if not space:
                del self.spaces[namespace]
        self.history.extend(draft.events, draft.olds)

    def _sorted(self, namespace: str) -> dict[str, Record]:
        """Return a namespace sorted by name; the order is kept, so that later sorts are cheap."""
        space = self.spaces[namespace]
        names = sorted(space)
        if names != list(space):
            space = self.spaces[namespace] = {name: space[name] for name in names}
        return space


class TableDraft:
    """The changes of one write call to one table."""

    __slots__ = ("base", "events", "olds", "removes", "staged", "table", "version")

    def __init__(self, table: ObjectTable, version: int) -> None:
        #: The table to change.
        self.table = table
        #: Store version before the call.
        self.base = version
        #: Store version after the changes so far.
        self.version = version
        #: Namespace -> name -> drafted record.
        self.staged: dict[str, Space] = {}
        #: True if a drafted record is a deletion.
        self.removes = False
        #: Events for watches.
        self.events: list[WatchEvent] = []
        #: For each event the record that it replaces or deletes; ``None`` if it adds one.
        self.olds: list[Record | None] = []

    def find(self, namespace: str, name: str) -> Record | None:
        """Return the object as later items of this call see it."""
        drafted = self.staged.get(namespace)
        if drafted is not None and name in drafted:
            return drafted[name]
        return self.table.find(namespace, name)

    def add(self, new: Record, head: PodHead | None) -> Record:
        """Add a record with the next version and an unused name; ``head`` is that of a pod."""
        self.staged.setdefault(new.namespace, {})[new.name] = new
        self._log(WatchEvent(EventType.ADDED, new, head), None)
        return new

    def put(self, old: Record, new: Record, *, bind: bool = False) -> Record:
        """Replace a record; the new one already has the next version."""
        self.staged.setdefault(old.namespace, {})[old.name] = new
        self._log(WatchEvent(EventType.MODIFIED, new, None, bind), old)
        return new

    def remove(self, old: Record, last: Record) -> Record:
        """Delete an object whose last state is ``last``, with the version of the deletion."""
        self.staged.setdefault(old.namespace, {})[old.name] = None
        self.removes = True
        self._log(WatchEvent(EventType.DELETED, last), old)
        return last

    def put_all(
        self, namespace: str, records: Space, events: list[WatchEvent], olds: Iterable[OldRecord]
    ) -> None:
        """Add or replace many records of one namespace; they already have consecutive versions.

        Args:
            namespace: namespace of all the records.
            records: the records by name, in the order of their versions; the draft keeps the
                mapping.
            events: their events.
            olds: for each event the record that it replaces; ``None`` if it adds one.
        """
        staged = self.staged.setdefault(namespace, records)
        if staged is not records:
            staged.update(records)
        self.events += events
        self.olds += olds
        self.version = events[-1].record.version

    def rewind(self, mark: int) -> None:
        """Undo the changes from index ``mark`` on; each must be the first change of its object."""
        for event in self.events[mark:]:
            del self.staged[event.record.namespace][event.record.name]
            self.version -= 1
        del self.events[mark:], self.olds[mark:]

    def _log(self, event: WatchEvent, old: OldRecord) -> None:
        self.version = event.record.version
        self.events.append(event)
        self.olds.append(old)


class JournalError(StrettoError):
    """The journal could not store a draft; the error contains the reply to each of its writes."""

    exit_code = ExitCode.UNREACHABLE

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        #: The reply to every write of the draft.
        self.reply = reply

    def __str__(self) -> str:
        return self.reply.message


class Journal(Protocol):
    """Makes drafts durable before they are applied, acknowledged or visible."""

    def write(self, draft: TableDraft) -> None:
        """Store all changes of a draft or none.

        Raises:
            JournalError: the draft was not stored, or the outcome is unknown.
        """
        ...
