"""A store as one role sees it, so that an unchanged plane can run the role.

Each role sees its own pods as pending and decided pods on their nodes; the others are hidden. The
plane only sees pods that are added, get nodes and are deleted, whatever the annotations are. A pod
that loses its decision appears as deleted and added again.

Versions are multiplied by ``SCALE``, so that a view can insert events between two changes of the
store: a pod in back-off appears later, without a change in the store.
"""

import heapq
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from msgspec.structs import replace

from stretto.api.edit.patch import PatchType
from stretto.api.kinds.table import entry_of
from stretto.api.types.handover_annotations import Hand, HandoverState, read
from stretto.api.wire.kinds import NODE, POD, QUEUE, Kind
from stretto.base.clock import Clock
from stretto.daemons.roles.node_shares import NodeOwners
from stretto.daemons.roles.views.unbound_pods import UnboundPod, read_unbound
from stretto.daemons.roles.views.watches import (
    SCALE,
    MappedWatch,
    deletion_of,
    widen,
    widen_reply,
)
from stretto.stores.capabilities import Capabilities
from stretto.stores.immediate import answered
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    EventType,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    UnitReplies,
    Watch,
    WatchEvent,
    Write,
    WriteOutcome,
    bind_each,
)
from stretto.stores.wrapper import StoreWrapper

Events = list[WatchEvent]
"""Changes in order. The alias exists because ``StoreView.list`` hides ``list``."""

EARLY: Final = Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, "the pod has no node yet")
"""The reply to a status that reports a node before the pod is bound."""
_SHORTEST: Final = 1e-6
"""Shortest back-off in seconds."""


class StoreView(StoreWrapper):
    """Store wrapper with pods as one role sees them; this base class does not change them."""

    #: True if the role writes Reservations and Movements.
    controls = False

    def __init__(self, inner: Store, names: frozenset[str], clock: Clock) -> None:
        """Show the pods with one of these scheduler names."""
        super().__init__(inner)
        #: Pods without a node, by uid.
        self.known: dict[str, UnboundPod] = {}
        #: The shard of each node.
        self.owners = NodeOwners()
        #: Pods returned since the last call of ``take_returned``.
        self._returned: list[str] = []
        #: Pods bound here whose binding the watch has not reported yet; older events about them are
        #: ignored.
        self.pinned: dict[str, WatchEvent | None] = {}
        self._forgotten: list[WatchEvent] = []
        self._names = names
        self._clock = clock
        self._version = 0
        self._late: list[tuple[float, str]] = []

    # ------------------------------------------------------------ decisions of a role

    def take_returned(self) -> list[str]:
        """Uids of the pods returned since the last call."""
        returned, self._returned = self._returned, []
        return returned

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """The shown state of a pod without a node: ``None`` (hidden), "" (pending), or its node."""
        del uid
        return standing.node

    @staticmethod
    def shown_queue(record: Record) -> Record:
        """A Queue as the role sees it; a role that does not order pods needs only a part of it."""
        return record

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """Handle a change of a pod's state; ``None`` before it is added or after it is deleted."""

    def delay(self, known: UnboundPod) -> float:
        """Back-off in seconds of a pod that is added or returned."""
        del known
        return 0.0

    # ------------------------------------------------------------ reading

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The current object as the role sees it, or ``None``.

        Kinds that only the controller writes are hidden from other roles, which may lack the
        permission.
        """
        if entry_of(kind).controller_only and not self.controls:
            return None
        record = self._inner.get(kind, namespace, name)
        if kind is not POD or record is None:
            return record
        if record.node:
            return widen(record, record.node)
        known = read_unbound(record, None, self._names)
        if known is None or known.standing.hand is Hand.UNKNOWN:
            return widen(record, "")
        shown = self.sight(record.uid, known.standing)
        return None if shown is None else widen(record, shown)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects of a kind, as the role sees them."""
        listing = self._inner.list(kind, selection)
        if kind is QUEUE:
            return replace(listing, records=[self.shown_queue(each) for each in listing.records])
        if kind is NODE and selection == EVERYTHING:
            self.owners.begin(listing.records)
        if kind is not POD:
            return listing
        if selection == EVERYTHING:
            present = {record.uid for record in listing.records if not record.node}
            for uid in [uid for uid in self.known if uid not in present]:
                self._forget(uid)
            for uid in [uid for uid in self.pinned if uid not in present]:
                del self.pinned[uid]
        events = [
            event
            for record in listing.records
            for event in self._translated(WatchEvent(EventType.ADDED, record), is_listed=True)
        ]
        self._version = max(self._version, listing.version * SCALE)
        return replace(listing, records=[e.record for e in events], version=self._version)

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the inner store, as far as they apply to pods as the role sees them."""
        return replace(
            self._inner.capabilities,
            binds_units=False,
            counts_disruptions=False,
            notifies=False,
            answers_later=False,
        )

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of the selected objects of a kind after a version."""
        if kind is POD:
            return MappedWatch(self._inner.watch(kind, since // SCALE, selection), self.events)
        watch = self._inner.watch(kind, since, selection)
        if kind is QUEUE:
            return MappedWatch(watch, self._queue_events)
        return MappedWatch(watch, self.owners.noted) if kind is NODE else watch

    def next_due(self) -> float:
        """Clock time at which the next back-off ends; infinity for none."""
        return self._late[0][0] if self._late else float("inf")

    def release_delayed(self, at_least: float) -> None:
        """Show pods that were in back-off for ``at_least`` seconds, after a possible cure."""
        for _, uid in self._late:
            known = self.known.get(uid)
            if known is not None and known.until:
                known.until = min(known.until, known.since + at_least)
        self._late = [(k.until, u) for _, u in self._late if (k := self.known.get(u)) and k.until]
        heapq.heapify(self._late)

    # ------------------------------------------------------------ writing

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects; only the controller writes Reservations and Movements."""
        if entry_of(kind).controller_only and not self.controls:
            return [Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT)] * len(bodies)
        return self._inner.create(kind, bodies)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        if kind is not POD:
            return self._inner.patch(kind, patches)
        return [widen_reply(r) for r in self._inner.patch(kind, self._narrow(patches))]

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects.

        Refuse a condition that reports a node before the binding.
        """
        if entry_of(kind).controller_only and not self.controls:
            return [Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT)] * len(patches)
        if kind is not POD:
            return self._inner.patch_status(kind, patches)
        sent = [each for each in patches if not self._is_early(each)]
        replies = iter(self._inner.patch_status(kind, self._narrow(sent)) if sent else ())
        return [EARLY if self._is_early(each) else widen_reply(next(replies)) for each in patches]

    def begin(self, write: Write) -> Future[Replies]:
        """Perform a batch of writes in the way of the role; the returned future is done."""
        return answered(self, write)

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind pods one by one."""
        return bind_each(self, units)

    def allowances(self) -> Mapping[str, int]:
        """Empty: the role counts budgets itself."""
        return {}

    def hand(self, bodies: Mapping[str, Mapping[str, Any]], *, whole: bool = False) -> Replies:
        """Patch the hand-over annotations of pods if their versions are current.

        Args:
            bodies: the patches by uid of known pods, see ``api.types.handover_annotations``.
            whole: patch the object itself and not its status.
        """
        patches = []
        for uid, body in bodies.items():
            record = self.known[uid].record
            kind = PatchType.MERGE if whole else PatchType.STRATEGIC
            patches.append(Patch(record.namespace, record.name, body, record.version, uid, kind))
        if not patches:
            return []
        write = self._inner.patch if whole else self._inner.patch_status
        replies = write(POD, patches)
        for (uid, body), reply in zip(bodies.items(), replies, strict=True):
            if reply.outcome is WriteOutcome.OK:
                self._apply_own_write(uid, body, reply.record)
        return replies

    def forget_binding(self, uid: str) -> None:
        """Process the ignored events of a pod after a failed binding."""
        missed = self.pinned.pop(uid, None)
        if missed is not None:
            self._forgotten.append(missed)

    def _apply_own_write(self, uid: str, body: Mapping[str, Any], record: Record | None) -> None:
        """Apply our own write immediately, so that no decision uses the old state."""
        known = self.known.get(uid)
        if known is None:
            return
        notes = {**known.standing.notes, **body.get("metadata", {}).get("annotations", {})}
        standing = read({key: text for key, text in notes.items() if text is not None})
        self.noted(known.record, known, standing)
        known.standing = standing
        if record is not None:
            known.record = record

    def _is_early(self, patch: Patch) -> bool:
        """Return whether a patch reports a node for a pod without one."""
        conditions = (patch.patch.get("status") or {}).get("conditions") or ()
        return patch.uid in self.known and any(
            each.get("type") == "PodScheduled" and each.get("status") == "True"
            for each in conditions
        )

    def real(self, uid: str) -> int | None:
        """The store's version of a pod at its last event; ``None`` if unknown."""
        known = self.known.get(uid)
        return None if known is None else known.record.version

    def _narrow(self, patches: Sequence[Patch]) -> Sequence[Patch]:
        """Patches with the store's own versions."""
        narrow = []
        for each in patches:
            if each.version is not None:
                real = self.real(each.uid)
                each = replace(each, version=each.version // SCALE if real is None else real)
            narrow.append(each)
        return narrow

    # ------------------------------------------------------------ events

    def events(self, events: Sequence[WatchEvent]) -> Sequence[WatchEvent]:
        """Translate pod events for the role; add pods whose back-off has ended."""
        seen = [each for event in events for each in self._translated(event)]
        if events:
            self._version = max(self._version, events[-1].record.version * SCALE)
        missed, self._forgotten = self._forgotten, []
        for each in [each for event in missed for each in self._translated(event)]:
            self._version += 1
            seen.append(replace(each, record=replace(each.record, version=self._version)))
        now = self._clock.monotonic()
        while self._late and self._late[0][0] <= now:
            _, uid = heapq.heappop(self._late)
            known = self.known.get(uid)
            if known is None or not known.until:
                continue
            if known.until > now:
                heapq.heappush(self._late, (known.until, uid))
                continue
            known.until = 0.0
            known.shown = self.sight(uid, known.standing)
            if known.shown is not None:
                self._version += 1
                wide = replace(known.record, version=self._version, node=known.shown)
                seen.append(WatchEvent(EventType.ADDED, wide))
        return seen

    def _queue_events(self, events: Sequence[WatchEvent]) -> Sequence[WatchEvent]:
        return [replace(each, record=self.shown_queue(each.record)) for each in events]

    def _translated(self, event: WatchEvent, *, is_listed: bool = False) -> Events:
        """Translate one change of a pod for the role."""
        record, uid = event.record, event.record.uid
        before = self.known.get(uid)
        if event.type is EventType.BOOKMARK:
            return [replace(event, record=widen(record, record.node))]
        if event.type is EventType.DELETED or record.node:
            self.pinned.pop(uid, None)
            self._forget(uid)
            return [replace(event, record=widen(record, record.node))]
        if uid in self.pinned:
            self.pinned[uid] = event
            return [replace(event, record=widen(record, ""))] if is_listed else []
        if before is not None and record.version < before.record.version:
            return []  # older than our own write
        if record.deleting:  # the server no longer binds the pod: it uses no capacity
            self._forget(uid)
            return [] if is_listed else [deletion_of(record)]
        known = read_unbound(record, event.head, self._names)
        if known is None:
            self._forget(uid)
            others = replace(event, record=widen(record, ""))
            return [others] if before is None or is_listed else [deletion_of(record), others]
        self.noted(record, before, known.standing)
        self.known[uid] = known
        if before is not None:
            known.shown, known.returns = before.shown, before.returns
            known.until, known.since, known.again_at = before.until, before.since, before.again_at
        gone = self._regrouped(known, before, is_listed=is_listed)
        return [*gone, *self._shown(event, known, before, is_listed=is_listed)]

    def _regrouped(
        self, known: UnboundPod, before: UnboundPod | None, *, is_listed: bool
    ) -> Events:
        """Show a pod that changed its PodGroup as deleted and added again."""
        if before is None or before.standing.group == known.standing.group:
            return []
        was, known.shown = known.shown, None
        return [] if was is None or is_listed else [deletion_of(known.record)]

    def _shown(
        self, event: WatchEvent, known: UnboundPod, before: UnboundPod | None, *, is_listed: bool
    ) -> Events:
        """Events for a change, given what was shown before."""
        record, uid, was = event.record, event.record.uid, known.shown
        shown = self.sight(uid, known.standing)
        if shown is None:
            known.until, known.shown = 0.0, None
            return [] if was is None or is_listed else [deletion_of(record)]
        turned = before is not None and before.standing.hand is not known.standing.hand
        is_back = was is not None and not shown and (bool(was) or turned)
        if is_back:
            known.returns += 1
            self._returned.append(uid)
        if was is None or is_back:
            wait = 0.0 if is_listed and not is_back else self.delay(known)
            if (wait > 0 or (is_back and is_listed)) and not known.until:
                known.since = self._clock.monotonic()
                known.until = known.since + max(wait, _SHORTEST)
                heapq.heappush(self._late, (known.until, uid))
        if known.until:
            known.shown = None
            return [deletion_of(record)] if is_back and not is_listed else []
        known.shown = shown
        if was is not None and not is_back:
            return [WatchEvent(EventType.MODIFIED, widen(record, shown), event.head)]
        come = WatchEvent(EventType.ADDED, widen(record, shown), event.head)
        return [deletion_of(record), come] if is_back else [come]

    def _forget(self, uid: str) -> None:
        known = self.known.pop(uid, None)
        if known is not None:
            self.noted(known.record, known, None)
