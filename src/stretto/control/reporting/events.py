"""Writes about pods: conditions, and events that are created, counted up and deleted.

Events share one lane, and no component waits for their answers. While too many are unanswered,
further events are dropped: an event is the least important write under load. The ``Scheduled``
events of bound pods wait in a queue that drops the oldest.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from typing import Final, NamedTuple

from stretto.api.wire.kinds import EVENT, POD
from stretto.control.reporting.wording import (
    PodReport,
    event_again,
    event_body,
    scheduled_report,
)
from stretto.stores.lane import NEVER, Lane, LaneLimits, ShedPolicy
from stretto.stores.store import (
    Deletion,
    Patch,
    Record,
    Reply,
    StatusReason,
    Store,
    Write,
    WriteOutcome,
    WriteVerb,
)

LANE: Final = LaneLimits(window=1024)
"""Maximum number of events in flight."""
CONDITIONS: Final = LaneLimits(window=256)
"""Maximum number of conditions in flight."""
BOUND: Final = LaneLimits(window=0, queued=10_000, shed=ShedPolicy.OLDEST)
"""Bound pods that wait for their ``Scheduled`` event."""


class _BoundPod(NamedTuple):
    """A pod that is bound and has no event yet."""

    #: Identity and node; the body is empty.
    record: Record
    #: Wall-clock time of the binding in seconds.
    wall: float


class _EventWrite(NamedTuple):
    """A write of one event in flight."""

    #: Create, patch (counts a repetition) or delete.
    verb: WriteVerb
    #: Clock time at which it was sent, in seconds.
    now: float
    #: Wall-clock time in seconds.
    wall: float
    #: The pod and the report of its event; ``None`` for a deletion or a repetition.
    about: tuple[Record, PodReport] | None = None


class ConditionWriter:
    """Writes conditions of pods and waits for the answers.

    The versions of own writes must be known before the next events are read. Otherwise the
    scheduler would treat its own condition as a change of the pod.
    """

    def __init__(self, store: Store) -> None:
        """Start with no write in flight."""
        self._lane: Lane[int, int] = Lane(store, CONDITIONS)

    def write(self, rows: Sequence[int], patches: Sequence[Patch]) -> list[tuple[int, Reply]]:
        """Patch the conditions of pods; returns the answer for each row."""
        self._lane.send(Write(WriteVerb.PATCH_STATUS, POD, patches), rows)
        return [
            pair
            for batch in self._lane.answers(0)
            for pair in zip(batch.entries, batch.replies, strict=True)
        ]


class EventWriter:
    """Writes events."""

    def __init__(self, store: Store, component: str, keep: float, counts: Counter[str]) -> None:
        """Start with no event written.

        Args:
            store: the store to which events are written.
            component: name of the scheduler in the events.
            keep: seconds after which an event is deleted; infinity if the store does that.
            counts: counts ``event`` for each success and ``event <outcome>`` for each failure.
        """
        self._component = component
        self._keep = keep
        self._counts = counts
        self._lane: Lane[str, _EventWrite] = Lane(store, LANE)
        self._bound: Lane[str, _BoundPod] = Lane(store, BOUND)
        #: Events created, by age: clock time, namespace and name.
        self._written: deque[tuple[float, str, str]] = deque()

    def queue_bound(self, pods: Iterable[Record], wall: float) -> None:
        """Queue the ``Scheduled`` events of pods; their records carry identity and node.

        ``wall`` is the wall-clock time of the bindings in seconds.
        """
        before = self._bound.shed
        for record in pods:
            self._bound.put(record.uid, _BoundPod(record, wall))
        self._counts["event shed"] += self._bound.shed - before

    @property
    def has_bound(self) -> bool:
        """True if pods wait for their ``Scheduled`` event."""
        return len(self._bound) > 0

    def create_bound(self, now: float, most: int) -> int:
        """Create at most ``most`` of the next ``Scheduled`` events; returns their number."""
        most = min(most, self._lane.capacity)
        if most <= 0 or not self.has_bound:
            return 0
        taken = list(islice(self._bound.due(NEVER), most))
        for uid, _ in taken:
            self._bound.withdraw(uid)
        pods = [pod for _, pod in taken]
        about = [(each.record, scheduled_report(each.record)) for each in pods]
        self._send_new(about, now, [each.wall for each in pods])
        return len(pods)

    def create(self, about: Sequence[tuple[Record, PodReport]], now: float, wall: float) -> None:
        """Create events; increase the count of an event that exists from before a restart."""
        if self._shed(len(about)):
            return
        self._send_new(about, now, repeat(wall))

    def _send_new(
        self, about: Sequence[tuple[Record, PodReport]], now: float, clock_times: Iterable[float]
    ) -> None:
        timed = list(zip(about, clock_times, strict=False))
        bodies = [event_body(*each, self._component, wall) for each, wall in timed]
        entries = [_EventWrite(WriteVerb.CREATE, now, wall, each) for each, wall in timed]
        self._lane.send(Write(WriteVerb.CREATE, EVENT, bodies), entries)
        self.collect()

    def count_up(self, patches: Sequence[Patch], now: float, wall: float) -> None:
        """Increase the counts of existing events."""
        if self._shed(len(patches)):
            return
        entries = [_EventWrite(WriteVerb.PATCH, now, wall)] * len(patches)
        self._lane.send(Write(WriteVerb.PATCH, EVENT, patches), entries)
        self.collect()

    def expire(self, now: float, most: int) -> None:
        """Delete at most ``most`` of the oldest expired events."""
        gone = list[Deletion]()
        while self._written and self._written[0][0] + self._keep < now and len(gone) < most:
            _, namespace, name = self._written.popleft()
            gone.append(Deletion(namespace, name))
        if gone:
            entries = [_EventWrite(WriteVerb.DELETE, now, 0.0)] * len(gone)
            self._lane.send(Write(WriteVerb.DELETE, EVENT, gone), entries)
            self.collect()

    def collect(self, *, wait: bool = False) -> None:
        """Process the answers that have arrived; with ``wait``, wait for all of them."""
        again = list[Patch]()
        for batch in self._lane.answers(0 if wait else NEVER):
            for entry, reply in zip(batch.entries, batch.replies, strict=True):
                patch = self._take(entry, reply)
                if patch is not None:
                    again.append(patch)
        if again:  # they exist from before a restart: their answers do not count
            entries = [_EventWrite(WriteVerb.DELETE, 0.0, 0.0)] * len(again)
            self._lane.send(Write(WriteVerb.PATCH, EVENT, again), entries)

    def _take(self, entry: _EventWrite, reply: Reply) -> Patch | None:
        """Process one answer; returns a patch if the event already exists."""
        if entry.verb is WriteVerb.DELETE:
            return None
        if entry.verb is WriteVerb.PATCH:
            self._counts["event"] += reply.outcome is WriteOutcome.OK
        elif reply.outcome is WriteOutcome.OK and reply.record is not None and entry.about:
            self._counts["event"] += 1
            record = entry.about[0]
            self._written.append((entry.now, record.namespace, reply.record.name))
        elif reply.code is StatusReason.ALREADY_EXISTS and entry.about:
            return event_again(*entry.about, 2, entry.wall)
        else:
            self._counts[f"event {reply.outcome.value}"] += 1
        return None

    def _shed(self, count: int) -> bool:
        """Return whether there is nothing to send, or too much in flight to send it."""
        if count and self._lane.capacity > 0:
            return False
        if count:
            self._counts["event shed"] += count
        return True
