"""The store in memory: the embedded default, and what serves the durable store's reads.

One thread owns it. Every write is drafted, journaled where there is a journal, applied, and only
then seen by watches; bodies are shared, never copied.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.kinds.table import kind_with_word
from stretto.api.wire.kinds import NM_NODE, NODE, POD, POD_DISRUPTION_BUDGET, Kind
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.capabilities import EMBEDDED
from stretto.stores.embedded.bind import draft_binds, draft_evictions, draft_units
from stretto.stores.embedded.create import IDENTITY_CHARS, CreateSettings, draft_creates
from stretto.stores.embedded.disruption import DisruptionBudgets
from stretto.stores.embedded.history import HISTORY, EventHistory, HistoryWatch
from stretto.stores.embedded.listing import Pager, record_filter
from stretto.stores.embedded.table import Journal, JournalError, ObjectTable, TableDraft
from stretto.stores.embedded.templates import TemplateCache
from stretto.stores.embedded.update import (
    draft_deletion,
    draft_patch,
    draft_status_patch,
    draft_update,
)
from stretto.stores.facts import OwnerFacts
from stretto.stores.store import (
    EVERYTHING,
    Bind,
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
)


class StoreOrigin(msgspec.Struct, frozen=True, gc=False):
    """Where a store goes on from."""

    #: First characters of every uid that it gives: never those of another store.
    identity: str
    #: Last version given; the next is greater.
    version: int = 0


class _ScaleSpec(msgspec.Struct, frozen=True, gc=False):
    """How many pods an owner wants."""

    #: Wanted pods; ``None`` where the kind has no such count.
    replicas: int | None = None


class _Scale(msgspec.Struct, frozen=True, gc=False):
    """The part of an owner that budgets ask for."""

    spec: _ScaleSpec


_SCALE_DECODER: Final = msgspec.json.Decoder(_Scale)


class MemoryStore:
    """All objects in dictionaries, with a bounded history for watches."""

    #: All of them.
    capabilities = EMBEDDED

    def __init__(
        self,
        clock: Clock,
        rng: Rng,
        history: int = HISTORY,
        journal: Journal | None = None,
        origin: StoreOrigin | None = None,
    ) -> None:
        """Start empty.

        Args:
            clock: tells creation and deletion times.
            rng: draws the identity that all uids share, and endings of made-up names.
            history: events kept at least for each kind.
            journal: makes writes durable before they are applied.
            origin: identity and version to go on from; by default a new identity from version 0.
        """
        self._clock = clock
        self._rng = rng
        self._limit = history
        self._journal = journal
        origin = origin or StoreOrigin(rng.uid()[:IDENTITY_CHARS])
        self._identity = origin.identity
        self._version = self._floor = origin.version
        self._tables: dict[Kind, ObjectTable] = {}
        self._pager = Pager()
        self._patterns = TemplateCache()
        pods, budgets = self._table(POD), self._table(POD_DISRUPTION_BUDGET)
        self._budgets = DisruptionBudgets(pods, budgets, self._scale)

    @property
    def version(self) -> int:
        """Version of the last write."""
        return self._version

    # ---------------------------------------------------------------- reads

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, or ``None``."""
        return self._table(kind).find(namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects of a kind that the selection names.

        Raises:
            TooOldError: a page is asked for of a list that is no longer kept.
            InputError: a selector or a page token is none.
        """
        if selection.page:
            return self._pager.further(kind, selection)
        test = record_filter(kind, selection)
        records = self._table(kind).ordered(selection.namespace)
        if test is not None:
            records = [record for record in records if test(record)]
        return self._pager.first(kind, selection, Listing(records, self._version))

    def watch(self, kind: Kind, since: int) -> Watch:
        """Changes of a kind after version ``since``; a version not yet given is too old as well."""
        history = self._table(kind).history
        ahead = since > self._version
        position = history.dropped - 1 if ahead else history.position(since)
        return HistoryWatch(history, since, position)

    # ---------------------------------------------------------------- writes

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Add objects; uid, version and creation time are given by the store."""
        draft = self._draft(kind)
        birth = CreateSettings(
            self._identity, timestamp(self._clock.now()), self._rng, self._patterns
        )
        return self._commit(draft, draft_creates(draft, bodies, birth))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects; their status is left alone."""
        draft = self._draft(kind)
        return self._commit(draft, [draft_update(draft, update) for update in updates])

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; status is left alone."""
        draft = self._draft(kind)
        return self._commit(draft, [draft_patch(draft, patch) for patch in patches])

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects; all else is left alone."""
        draft = self._draft(kind)
        return self._commit(draft, [draft_status_patch(draft, patch) for patch in patches])

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Remove objects (those with finalizers are only marked)."""
        draft = self._draft(kind)
        now = timestamp(self._clock.now())
        return self._commit(draft, [draft_deletion(draft, each, now) for each in deletions])

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes. Already bound to the wanted node by uid is ``ok``."""
        draft = self._draft(POD)
        return self._commit(draft, draft_binds(draft, binds, self._nodes()))

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units in one transaction, each with all of its pods or with none."""
        draft = self._draft(POD)
        answers = draft_units(draft, units, self._nodes())
        drafted = [reply for replies in answers for reply in replies]
        said = self._commit(draft, drafted)
        if said is drafted:
            return answers
        flat = iter(said)
        return [[next(flat) for _ in replies] for replies in answers]

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        draft = self._draft(POD)
        now = timestamp(self._clock.now())
        return self._commit(draft, draft_evictions(draft, evictions, self._budgets, now))

    def allowances(self) -> Mapping[str, int]:
        """How many more pods each disruption budget lets go now, by the budget's uid."""
        return self._budgets.allowances()

    def seed(self, records: Iterable[Record]) -> None:
        """Load many records as they are, before the first watch; nothing is journaled.

        Raises:
            InputError: two records have one name.
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

    def close(self) -> None:
        """Nothing to let go of."""

    # ---------------------------------------------------------------- inside

    def _table(self, kind: Kind) -> ObjectTable:
        table = self._tables.get(kind)
        if table is None:
            table = self._tables[kind] = ObjectTable(kind, EventHistory(self._limit, self._floor))
        return table

    def _draft(self, kind: Kind) -> TableDraft:
        return TableDraft(self._table(kind), self._version)

    def _nodes(self) -> dict[str, Record]:
        """What pods may be bound to: a machine may have a node manager and no kubelet."""
        nodes = self._table(NODE).spaces.get("", {})
        managers = self._table(NM_NODE).spaces.get("")
        return {**managers, **nodes} if managers else nodes

    def _commit(self, draft: TableDraft, replies: Replies) -> Replies:
        """Make a draft durable, then true; where the journal fails, nothing of it has happened."""
        if not draft.events:
            return replies
        if self._journal is not None:
            try:
                self._journal.write(draft)
            except JournalError as error:
                self._budgets.forget()
                return [
                    error.reply if reply.record and reply.record.version > draft.base else reply
                    for reply in replies
                ]
        self._version = draft.version
        draft.table.apply(draft)
        return replies

    def _scale(self, namespace: str, owner: OwnerFacts) -> int | None:
        """How many pods an owner wants, where the store knows the owner."""
        kind = kind_with_word(owner.kind)
        record = self.get(kind, namespace, owner.name) if kind is not None else None
        if record is None:
            return None
        try:
            return _SCALE_DECODER.decode(record.body).spec.replicas
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
