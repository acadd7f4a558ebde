"""All objects of one kind, and drafts: the changes that one write call wants to make.

A write first drafts its changes, where only its own later items see them; then they are journaled,
where the store is durable; then they are applied and shown to watches at once. So a batch that
fails on its way, or an interrupt in the middle of it, leaves nothing half done.
"""

from typing import Final, Protocol, cast

from stretto.api.wire.kinds import Kind
from stretto.base.errors import StrettoError
from stretto.stores.embedded.history import EventHistory
from stretto.stores.store import EventType, Record, Reply, WatchEvent

Space = dict[str, Record | None]
"""Drafted records of one namespace by name; ``None`` for a removed one."""

_NOTHING: Final[dict[str, Record]] = {}


class ObjectTable:
    """The objects of one kind by namespace and name, and their recent changes."""

    __slots__ = ("history", "kind", "spaces")

    def __init__(self, kind: Kind, history: EventHistory) -> None:
        #: Kind of all the objects.
        self.kind = kind
        #: Namespace -> name -> record; cluster-scoped kinds have the one namespace "".
        self.spaces: dict[str, dict[str, Record]] = {}
        #: What changed lately.
        self.history = history

    def find(self, namespace: str, name: str) -> Record | None:
        """The object of that name, or ``None``."""
        return self.spaces.get(namespace, _NOTHING).get(name)

    def ordered(self, namespace: str) -> list[Record]:
        """The objects of a namespace (of all, where it is empty) by namespace and name."""
        if namespace:
            return list(self._sorted(namespace).values()) if namespace in self.spaces else []
        return [record for each in sorted(self.spaces) for record in self._sorted(each).values()]

    def apply(self, draft: "TableDraft") -> None:
        """Make a draft's changes true and tell the watches."""
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
        """A namespace in the order of names, and kept so: sorting what is sorted costs little."""
        space = self.spaces[namespace]
        names = sorted(space)
        if names != list(space):
            space = self.spaces[namespace] = {name: space[name] for name in names}
        return space


class TableDraft:
    """The changes of one write call to one table."""

    __slots__ = ("base", "events", "olds", "removes", "staged", "table", "version")

    def __init__(self, table: ObjectTable, version: int) -> None:
        #: What the changes are made to.
        self.table = table
        #: Store version before the call.
        self.base = version
        #: Store version after the changes so far.
        self.version = version
        #: Namespace -> name -> drafted record.
        self.staged: dict[str, Space] = {}
        #: Whether some drafted record is a removal.
        self.removes = False
        #: What watches will see.
        self.events: list[WatchEvent] = []
        #: For each event the record that it replaces or removes; ``None`` where it adds one.
        self.olds: list[Record | None] = []

    def find(self, namespace: str, name: str) -> Record | None:
        """The object as the later items of this call see it."""
        drafted = self.staged.get(namespace)
        if drafted is not None and name in drafted:
            return drafted[name]
        return self.table.find(namespace, name)

    def put(self, old: Record, new: Record, *, bind: bool = False) -> Record:
        """Replace a record; the new one carries the next version already."""
        self.staged.setdefault(old.namespace, {})[old.name] = new
        self._log(WatchEvent(EventType.MODIFIED, new, None, bind), old)
        return new

    def remove(self, old: Record, last: Record) -> Record:
        """Remove an object whose last state is ``last``, with the deletion's version."""
        self.staged.setdefault(old.namespace, {})[old.name] = None
        self.removes = True
        self._log(WatchEvent(EventType.DELETED, last), old)
        return last

    def rewind(self, mark: int) -> None:
        """Take back the changes from the ``mark``-th on, which were the first of their objects."""
        for event in self.events[mark:]:
            del self.staged[event.record.namespace][event.record.name]
            self.version -= 1
        del self.events[mark:], self.olds[mark:]

    def _log(self, event: WatchEvent, old: Record) -> None:
        self.version = event.record.version
        self.events.append(event)
        self.olds.append(old)


class JournalError(StrettoError):
    """A journal could not keep a draft; it says what each of the writes is to be answered."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        #: The answer to every write of the draft.
        self.reply = reply

    def __str__(self) -> str:
        return self.reply.message


class Journal(Protocol):
    """What makes drafts durable before they are applied, acknowledged or seen."""

    def write(self, draft: TableDraft) -> None:
        """Keep all changes of a draft or none.

        Raises:
            JournalError: the draft was not kept, or may not have been (an unknown outcome).
        """
        ...
