"""The store as the binder sees it: decided pods are pending, others are hidden."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from stretto.api.types.godel import PodGroup, PodGroupPhase
from stretto.api.types.handover_annotations import (
    LOCK,
    LOCK_BINDER,
    Hand,
    HandoverState,
    locked,
)
from stretto.api.wire.kinds import POD, POD_GROUP, Kind
from stretto.base.clock import Clock
from stretto.daemons.roles.delays import backoff_after
from stretto.daemons.roles.store_view import StoreView
from stretto.daemons.roles.views.guarantees import guarantee_of
from stretto.daemons.roles.views.unbound_pods import UnboundPod
from stretto.daemons.roles.views.watches import SCALE
from stretto.stores.store import (
    Bind,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
)

DECIDED: Final = (Hand.ASSUMED, Hand.NOMINATED)
"""States of pods that the binder owns."""
_GROUPS: Final = msgspec.json.Decoder(PodGroup)
_HELD_BACK: Final = Reply(
    WriteOutcome.REFUSED, StatusReason.FORBIDDEN, "its PodGroup has timed out"
)
_LATER: Final = Reply(
    WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, "its PodGroup could not be locked"
)
GroupAnnotations = Callable[[str], tuple[str, dict[str, str]] | None]
"""Maps ``namespace/name`` of a PodGroup to its uid and annotations.

``None`` if it needs no lock.
"""


class BinderView(StoreView):
    """Store view of the binder: decided pods are pending, others are hidden."""

    shown_queue = staticmethod(guarantee_of)

    def __init__(
        self, inner: Store, names: frozenset[str], clock: Clock, annotations_of: GroupAnnotations
    ) -> None:
        """Show the pods with one of these scheduler names.

        ``annotations_of`` returns uid and annotations of a PodGroup that must be locked.
        """
        super().__init__(inner, names, clock)
        self._annotations_of = annotations_of
        #: Clock times at which pods of gangs were decided, by uid.
        self.gangs: dict[str, float] = {}
        self._locked: set[str] = set()
        self._refusals: dict[str, tuple[int, float]] = {}

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Show decided pods as pending."""
        del uid
        return "" if standing.hand in DECIDED else None

    def delay(self, known: UnboundPod) -> float:
        """Back-off of pods whose decisions were rejected repeatedly.

        A shard of Stretto has already backed off; a shard of Gödel decides again immediately.
        """
        count, at = self._refusals.get(known.record.uid, (0, 0.0))
        return max(0.0, at + backoff_after(count) - self._clock.monotonic())

    def refused(self, uid: str) -> None:
        """Forget a decision that was written back."""
        count = self._refusals.get(uid, (0, 0.0))[0] + 1
        self._refusals[uid] = count, self._clock.monotonic()

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """Record when pods of gangs were decided; forget deleted pods."""
        if after is None:
            self._refusals.pop(record.uid, None)
        if after is None or after.hand not in DECIDED:
            self.gangs.pop(record.uid, None)
        elif after.group:
            self.gangs.setdefault(record.uid, self._clock.monotonic())

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods; lock the PodGroup of a gang first, so that it cannot time out meanwhile."""
        groups: dict[str, Reply | None] = {}
        for bind in binds:
            key = self._group(bind)
            if key and key not in groups:
                groups[key] = self._lock(key)
        wanted = [bind for bind in binds if groups.get(self._group(bind)) is None]
        sent = self._inner.bind(wanted) if wanted else []
        for bind, reply in zip(wanted, sent, strict=True):
            if reply.outcome in (WriteOutcome.OK, WriteOutcome.UNKNOWN):
                self.pinned.setdefault(bind.uid, None)
            else:
                self.forget_binding(bind.uid)
        replies = iter(sent)
        return [groups.get(self._group(bind)) or next(replies) for bind in binds]

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The current object, unfiltered, because it shows the outcome of a bind."""
        if kind is not POD:
            return super().get(kind, namespace, name)
        record = self._inner.get(kind, namespace, name)
        if record is None:
            return None
        return msgspec.structs.replace(record, version=record.version * SCALE)

    def _group(self, bind: Bind) -> str:
        known = self.known.get(bind.uid)
        name = known.standing.group if known is not None else ""
        return f"{bind.namespace}/{name}" if name else ""

    def _lock(self, key: str) -> Reply | None:
        """Lock a group; return ``None`` on success, otherwise the reply for its pods."""
        found = self._annotations_of(key)
        if found is None or found[0] in self._locked:
            return None
        uid, notes = found
        if LOCK in notes:
            return None if notes[LOCK] == LOCK_BINDER else _HELD_BACK
        namespace, _, name = key.partition("/")
        reply = self._inner.patch(POD_GROUP, [Patch(namespace, name, locked(), uid=uid)])[0]
        if reply.outcome is not WriteOutcome.OK:
            return _LATER
        if reply.record is not None and _timed_out(reply.record):
            return _HELD_BACK
        self._locked.add(uid)
        return None


def _timed_out(record: Record) -> bool:
    """Return whether a PodGroup timed out before it was locked."""
    try:
        return _GROUPS.decode(record.body).status.phase == PodGroupPhase.TIMEOUT
    except (msgspec.DecodeError, RecursionError):
        return False  # an unreadable group has not timed out
