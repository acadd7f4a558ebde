"""The store in memory: the embedded default, and the read side of the durable store.

One thread owns the store. Every write is drafted, written to the journal if there is one, applied,
and only then visible to watches and subscribers. Bodies are shared, never copied.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future

from stretto.api.wire.kinds import NM_NODE, NODE, POD, POD_DISRUPTION_BUDGET, Kind
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.capabilities import EMBEDDED
from stretto.stores.embedded.drafts import Chance, Drafter, StoreOrigin, new_origin
from stretto.stores.embedded.history import (
    HISTORY,
    EventHistory,
    HistoryWatch,
    Selected,
    SelectedWatch,
)
from stretto.stores.embedded.listing import Pager, record_filter, watch_filter
from stretto.stores.embedded.table import Journal, JournalError, ObjectTable, TableDraft
from stretto.stores.immediate import answered
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    ChangeCallback,
    Deletion,
    Eviction,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    UnitReplies,
    Update,
    Watch,
    Write,
)


class MemoryStore:
    """Objects in dictionaries, with a bounded history for watches."""

    #: All optional guarantees.
    capabilities = EMBEDDED

    def __init__(
        self,
        clock: Clock,
        rng: Rng,
        history: int = HISTORY,
        journal: Journal | None = None,
        origin: StoreOrigin | None = None,
    ) -> None:
        """Create an empty store.

        Args:
            clock: source of creation and deletion times.
            rng: source of the identity in all uids, and of suffixes of generated names.
            history: minimum number of events kept for each kind.
            journal: makes writes durable before they are applied.
            origin: identity and version to continue from; default: a new identity, version 0.
        """
        self._limit = history
        self._journal = journal
        origin = origin or new_origin(rng)
        self._version = self._floor = origin.version
        self._tables: dict[Kind, ObjectTable] = {}
        self._callbacks: list[ChangeCallback] = []
        self._pager = Pager()
        self._drafter = Drafter(
            origin.identity,
            Chance(clock, rng),
            (self._table(POD), self._table(POD_DISRUPTION_BUDGET)),
            self.get,
        )

    @property
    def version(self) -> int:
        """Version of the last write."""
        return self._version

    # ---------------------------------------------------------------- reads

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``."""
        return self._table(kind).find(namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of a kind.

        Raises:
            TooOldError: the page belongs to a list that is no longer kept.
            InputError: a selector or a page token is malformed.
        """
        if selection.page:
            return self._pager.further(kind, selection)
        test = record_filter(kind, selection)
        records = self._table(kind).ordered(selection.namespace)
        if test is not None:
            records = [record for record in records if test(record)]
        return self._pager.first(kind, selection, Listing(records, self._version))

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Watch changes of the selected objects of a kind after version ``since``.

        A watch from a version that does not exist yet is too old as well.

        Raises:
            InputError: a selector is malformed.
        """
        if selection == EVERYTHING:
            history, position = self._begun(kind, since)
            return HistoryWatch(history, since, position)
        newest = (lambda: self._version) if selection.bookmarks else None
        selected = Selected(kind, watch_filter(kind, selection), newest)
        history, position = self._begun(kind, since)
        return SelectedWatch(history, since, position, selected)

    def watch_matching(self, kind: Kind, since: int, matches: Callable[[Record], bool]) -> Watch:
        """Watch like ``watch``, with any function that selects records."""
        history, position = self._begun(kind, since)
        return SelectedWatch(history, since, position, Selected(kind, matches))

    def _begun(self, kind: Kind, since: int) -> tuple[EventHistory, int]:
        """The history of a kind, and the start position of a watch after a version."""
        history = self._table(kind).history
        ahead = since > self._version
        return history, history.dropped - 1 if ahead else history.position(since)

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` after each commit, with the changed kind."""
        self._callbacks.append(callback)

        def end() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return end

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the same as ``get``: this store is always reachable."""
        return self.get(kind, namespace, name)

    def records_at(self, kind: Kind, version: int) -> Sequence[Record] | None:
        """The records of a kind at an older version, in order.

        ``None`` if its history is dropped.
        """
        table = self._table(kind)
        history = table.history
        position = history.position(version) - history.dropped
        if position < 0 or version > self._version:
            return None
        found = {(each.namespace, each.name): each for each in table.ordered("")}
        later = zip(history.events[position:], history.olds[position:], strict=True)
        for event, old in reversed(list(later)):
            key = event.record.namespace, event.record.name
            found.pop(key, None)
            if old is not None:
                found[key] = old
        return [found[key] for key in sorted(found)]

    def compact(self, kinds: Sequence[Kind] = ()) -> None:
        """Drop the history of some kinds, or of all; watches from older versions become too old."""
        for kind in kinds or tuple(self._tables):
            self._table(kind).history.forget(self._version)

    def next_uid(self) -> str:
        """The uid of the next object, if it is created in a call of its own."""
        return self._drafter.uid(self._version + 1)

    # ---------------------------------------------------------------- writes

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects; the store assigns uid, version and creation time."""
        draft = self._draft(kind)
        return self._commit(draft, self._drafter.create(draft, bodies))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects; their status does not change."""
        draft = self._draft(kind)
        return self._commit(draft, self._drafter.update(draft, updates))

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        draft = self._draft(kind)
        return self._commit(draft, self._drafter.patch(draft, patches))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change only the status of objects, and annotations of pods and Deployments."""
        draft = self._draft(kind)
        return self._commit(draft, self._drafter.patch_status(draft, patches))

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects; those with finalizers are only marked."""
        draft = self._draft(kind)
        return self._commit(draft, self._drafter.delete(draft, deletions))

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes; an existing binding of the same uid to the same node is ``ok``."""
        draft = self._draft(POD)
        return self._commit(draft, self._drafter.bind(draft, binds, self._nodes()))

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units in one transaction, each as a whole or not at all."""
        draft = self._draft(POD)
        answers = self._drafter.bind_units(draft, units, self._nodes())
        drafted = [reply for replies in answers for reply in replies]
        committed = self._commit(draft, drafted)
        if committed is drafted:
            return answers
        flat = iter(committed)
        return [[next(flat) for _ in replies] for replies in answers]

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        draft = self._draft(POD)
        return self._commit(draft, self._drafter.evict(draft, evictions))

    def begin(self, write: Write) -> Future[Replies]:
        """Perform a batch of writes; return a finished future."""
        return answered(self, write)

    def allowances(self) -> Mapping[str, int]:
        """Disruptions that each disruption budget allows now, by uid of the budget."""
        return self._drafter.budgets.allowances()

    def seed(self, records: Iterable[Record]) -> None:
        """Load records unchanged, before the first watch; the journal does not store them.

        Raises:
            InputError: two records have the same name.
        """
        tables: set[ObjectTable] = set()
        for record in records:
            table = self._table(record.kind)
            space = table.spaces.setdefault(record.namespace, {})
            if record.name in space:
                place = f"{record.kind.kind} {record.namespace}/{record.name}"
                raise InputError("seed", place, "each object once")
            space[record.name] = record
            self._version = max(self._version, record.version)
            tables.add(table)
        for table in tables:
            table.history.forget(self._version)
            self._notify(table.kind)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    # ---------------------------------------------------------------- internals

    def _table(self, kind: Kind) -> ObjectTable:
        table = self._tables.get(kind)
        if table is None:
            table = self._tables[kind] = ObjectTable(kind, EventHistory(self._limit, self._floor))
        return table

    def _draft(self, kind: Kind) -> TableDraft:
        return TableDraft(self._table(kind), self._version)

    def _nodes(self) -> dict[str, Record]:
        """Nodes that pods may be bound to; a machine may have a node manager and no kubelet."""
        nodes = self._table(NODE).spaces.get("", {})
        managers = self._table(NM_NODE).spaces.get("")
        return {**managers, **nodes} if managers else nodes

    def _commit(self, draft: TableDraft, replies: Replies) -> Replies:
        """Make a draft durable and apply it; if the journal fails, nothing is applied."""
        if not draft.events:
            return replies
        if self._journal is not None:
            try:
                self._journal.write(draft)
            except JournalError as error:
                self._drafter.budgets.forget()
                return [
                    error.reply if reply.record and reply.record.version > draft.base else reply
                    for reply in replies
                ]
        self._version = draft.version
        draft.table.apply(draft)
        self._notify(draft.table.kind)
        return replies

    def _notify(self, kind: Kind) -> None:
        for callback in self._callbacks:
            callback(kind)
