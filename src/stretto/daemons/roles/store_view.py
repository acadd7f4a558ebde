"""A view: the store as one role must see it, so that the plane's own parts do its work.

Each role shows the pods that are in its hands as pods that want a node, those that somebody has
decided about as pods on a node, and the others not at all; whatever the annotations do, the plane
behind sees pods come, get nodes and go. A pod that is taken back to a place without a node is shown
as gone and come again.

Versions are made wider by ``SCALE``, so that a view can say something between two changes of the
store: a pod that is kept back a while comes later, without any change.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from stretto.api.edit.patch import PatchType
from stretto.api.kinds.table import entry_of
from stretto.api.types.handover_annotations import Hand, HandoverState, read, standing_of
from stretto.api.types.heads import PodHead, decode_pod_head
from stretto.api.wire.kinds import NODE, POD, QUEUE, Kind
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.daemons.roles.node_shares import NodeOwners
from stretto.daemons.roles.watches import EmptyWatch, MappedWatch
from stretto.stores.store import (
    EVERYTHING,
    EventType,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    Watch,
    WatchEvent,
    WriteOutcome,
)
from stretto.stores.wrapper import StoreWrapper

SCALE: Final = 1 << 20
"""How many words a view has for each version of the store."""
Events = list[WatchEvent]
"""Changes in order. It has a name because ``StoreView.list`` hides ``list``."""

EARLY: Final = Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, "the pod has no node yet")
"""The answer to who says too early that a pod has a node."""
_SHORTEST: Final = 1e-6
"""Seconds that a pod is kept back at least, once it is."""


class UnboundPod(msgspec.Struct):
    """A pod without a node that one of our names is asked for."""

    #: Where it stands.
    standing: HandoverState
    #: Namespace, name, uid and the store's own version.
    record: Record
    #: How it is shown: ``None`` not at all, "" as one that wants a node, or on which node.
    shown: str | None = None
    #: Clock time until which it is kept back; 0 for never.
    until: float = 0.0
    #: Clock time since which it is kept back.
    since: float = 0.0
    #: How often it came back to the role.
    returns: int = 0
    #: Clock time before which the dispatcher does not try to take it back again.
    again_at: float = 0.0


class StoreView(StoreWrapper):
    """A store with pods as one role sees them; the base shows them as they are."""

    #: Whether the role orders pods by queues; what others let pass is not held back again.
    keeps_queues = True
    #: Whether the role writes what became of kept places and of moves.
    controls = False

    def __init__(self, inner: Store, names: frozenset[str], clock: Clock) -> None:
        """See the pods that ask for one of these scheduler names."""
        super().__init__(inner)
        #: Pods without a node, by uid.
        self.known: dict[str, UnboundPod] = {}
        #: In whose share nodes are.
        self.owners = NodeOwners()
        #: Pods that came back since they were last asked for.
        self._returned: list[str] = []
        #: Pods whose binding is ours and not seen yet: older words about them are not heeded.
        self.pinned: dict[str, WatchEvent | None] = {}
        self._forgotten: list[WatchEvent] = []
        self._names = names
        self._clock = clock
        self._version = 0
        self._late: list[tuple[float, str]] = []

    # ------------------------------------------------------------ what a role decides

    def take_returned(self) -> list[str]:
        """Uids of the pods that came back since the last call."""
        returned, self._returned = self._returned, []
        return returned

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """How a pod without a node is shown: not at all, as wanting one (""), or on a node."""
        del uid
        return standing.node

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """Told of every change of where a pod stands; ``None`` is before its time or after it."""

    def delay(self, known: UnboundPod) -> float:
        """Seconds for which a pod that comes (again) is kept back."""
        del known
        return 0.0

    # ------------------------------------------------------------ reading

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now, as the role sees it, or ``None``.

        What the controller alone writes nobody else has to read, and may not.
        """
        if entry_of(kind).controller_only and not self.controls:
            return None
        record = self._inner.get(kind, namespace, name)
        if kind is not POD or record is None:
            return record
        if record.node:
            return _wide(record, record.node)
        known = self._read(record, None)
        if known is None or known.standing.hand is Hand.UNKNOWN:
            return _wide(record, "")
        shown = self.sight(record.uid, known.standing)
        return None if shown is None else _wide(record, shown)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The objects of a kind, as the role sees them."""
        listing = self._inner.list(kind, selection)
        if kind is QUEUE and not self.keeps_queues:
            return replace(listing, records=[])
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

    def watch(self, kind: Kind, since: int) -> Watch:
        """Changes of a kind after a version."""
        if kind is POD:
            return MappedWatch(self._inner.watch(kind, since // SCALE), self.events)
        if kind is QUEUE and not self.keeps_queues:
            return EmptyWatch()
        watch = self._inner.watch(kind, since)
        return MappedWatch(watch, self.owners.noted) if kind is NODE else watch

    def next_due(self) -> float:
        """Clock time at which a pod that is kept back comes; infinity for none."""
        return self._late[0][0] if self._late else float("inf")

    def release_delayed(self, at_least: float) -> None:
        """Let pods come that have been kept back for so many seconds: something has changed."""
        for _, uid in self._late:
            known = self.known.get(uid)
            if known is not None and known.until:
                known.until = min(known.until, known.since + at_least)
        self._late = [(k.until, u) for _, u in self._late if (k := self.known.get(u)) and k.until]
        heapq.heapify(self._late)

    # ------------------------------------------------------------ writing

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Add objects; Reservations and Movements are the controller's to write."""
        if entry_of(kind).controller_only and not self.controls:
            return [Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT)] * len(bodies)
        return self._inner.create(kind, bodies)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; status is left alone."""
        if kind is not POD:
            return self._inner.patch(kind, patches)
        return [_wide_reply(r) for r in self._inner.patch(kind, self._narrow(patches))]

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects (and annotations of pods); all else is left alone.

        That a pod has a node is for its binding to say: such a condition is refused for now.
        """
        if entry_of(kind).controller_only and not self.controls:
            return [Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT)] * len(patches)
        if kind is not POD:
            return self._inner.patch_status(kind, patches)
        sent = [each for each in patches if not self._is_early(each)]
        replies = iter(self._inner.patch_status(kind, self._narrow(sent)) if sent else ())
        return [EARLY if self._is_early(each) else _wide_reply(next(replies)) for each in patches]

    def hand(self, bodies: Mapping[str, Mapping[str, Any]], *, whole: bool = False) -> Replies:
        """Pass pods on by what is written about them, if they are as they were seen last.

        Args:
            bodies: the patches by uid of known pods, see ``api.types.handover_annotations``.
            whole: the object itself is patched and not its status.
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
        """A binding of ours has come to nothing: what was said of the pod meanwhile counts."""
        missed = self.pinned.pop(uid, None)
        if missed is not None:
            self._forgotten.append(missed)

    def _apply_own_write(self, uid: str, body: Mapping[str, Any], record: Record | None) -> None:
        """What we have written counts at once: nothing is decided on what was before."""
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
        """Whether a patch says of a pod without a node that it has one."""
        conditions = (patch.patch.get("status") or {}).get("conditions") or ()
        return patch.uid in self.known and any(
            each.get("type") == "PodScheduled" and each.get("status") == "True"
            for each in conditions
        )

    def real(self, uid: str) -> int | None:
        """The store's own version of a pod as it was seen last; ``None`` where it is not known."""
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
        """What changes of pods mean to the role, and the pods that come late."""
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

    def _read(self, record: Record, head: PodHead | None) -> UnboundPod | None:
        """A pod without a node as its annotations have it; ``None`` for others' pods."""
        try:
            head = head if head is not None else decode_pod_head(record.body)
        except InputError:
            return None
        if head.spec.node_name or head.spec.scheduler_name not in self._names:
            return None
        return UnboundPod(standing_of(head.metadata), record)

    def _translated(self, event: WatchEvent, *, is_listed: bool = False) -> Events:
        """One change of a pod as the role sees it."""
        record, uid = event.record, event.record.uid
        before = self.known.get(uid)
        if event.type is EventType.BOOKMARK:
            return [replace(event, record=_wide(record, record.node))]
        if event.type is EventType.DELETED or record.node:
            self.pinned.pop(uid, None)
            self._forget(uid)
            return [replace(event, record=_wide(record, record.node))]
        if uid in self.pinned:
            self.pinned[uid] = event
            return [replace(event, record=_wide(record, ""))] if is_listed else []
        if before is not None and record.version < before.record.version:
            return []  # older than what we wrote ourselves
        if record.deleting:  # no server binds it any more: it holds nothing, whatever was decided
            self._forget(uid)
            return [] if is_listed else [_gone(record)]
        known = self._read(record, event.head)
        if known is None:
            self._forget(uid)
            others = replace(event, record=_wide(record, ""))
            return [others] if before is None or is_listed else [_gone(record), others]
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
        """A pod that has changed its PodGroup is shown as gone, and comes as another one's."""
        if before is None or before.standing.group == known.standing.group:
            return []
        was, known.shown = known.shown, None
        return [] if was is None or is_listed else [_gone(known.record)]

    def _shown(
        self, event: WatchEvent, known: UnboundPod, before: UnboundPod | None, *, is_listed: bool
    ) -> Events:
        """How a change is shown, after what was shown before."""
        record, uid, was = event.record, event.record.uid, known.shown
        shown = self.sight(uid, known.standing)
        if shown is None:
            known.until, known.shown = 0.0, None
            return [] if was is None or is_listed else [_gone(record)]
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
            return [_gone(record)] if is_back and not is_listed else []
        known.shown = shown
        if was is not None and not is_back:
            return [WatchEvent(EventType.MODIFIED, _wide(record, shown), event.head)]
        come = WatchEvent(EventType.ADDED, _wide(record, shown), event.head)
        return [_gone(record), come] if is_back else [come]

    def _forget(self, uid: str) -> None:
        known = self.known.pop(uid, None)
        if known is not None:
            self.noted(known.record, known, None)


def _wide(record: Record, node: str) -> Record:
    return replace(record, version=record.version * SCALE, node=node)


def _gone(record: Record) -> WatchEvent:
    """A pod is in these hands no longer."""
    return WatchEvent(EventType.DELETED, replace(record, version=record.version * SCALE - 1))


def _wide_reply(reply: Reply) -> Reply:
    if reply.record is None:
        return reply
    return replace(reply, record=_wide(reply.record, reply.record.node))
