"""The watcher: events of a watch of all pods, with times.

It runs while a side or the ceiling is measured, and polls every few milliseconds. Times are those
of the poll that returned a change.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.clock import Clock
from stretto.stores.store import EventType, Store, WatchEvent
from stretto_lab.bench.kube.shapes import MEASURED, RUNNING

POINTS: Final = 240
"""Number of points of a curve."""
_NOMINATED: Final = b'"nominatedNodeName"'


class PodCurve(NamedTuple):
    """Numbers of created and bound pods over time."""

    #: Seconds since the first pod.
    t: list[float]
    #: Pods created.
    created: list[int]
    #: Pods bound.
    scheduled: list[int]


class _WatchedGroup(msgspec.Struct, frozen=True):
    """The status of a PodGroup."""

    #: The status.
    status: dict[str, Any] = {}


_GROUP: Final = msgspec.json.Decoder(_WatchedGroup)


class PodWatcher:
    """A watch of all pods that records measured and evicted ones.

    With gangs, it also watches PodGroups.
    """

    def __init__(self, store: Store, clock: Clock, *, gangs: bool = False) -> None:
        """Start the watches."""
        #: First event of each measured pod, in monotonic seconds.
        self.created: dict[str, float] = {}
        #: First event of each measured pod with a node, in monotonic seconds.
        self.bound: dict[str, float] = {}
        #: Node by bound pod.
        self.node_of: dict[str, str] = {}
        #: Uid by pod, including running ones.
        self.uid_of: dict[str, str] = {}
        #: Pods that were nominated before they were bound.
        self.nominated: set[str] = set()
        #: Running pods that were deleted: name and node.
        self.evicted: list[tuple[str, str]] = []
        #: Status writes of PodGroups: name and status.
        self.statuses: list[tuple[str, dict[str, Any]]] = []
        #: Time of the last poll.
        self.looked_at = clock.monotonic()
        #: Time of the last poll before the first write of a scheduler.
        self.idle_at = self.looked_at
        #: Time of the poll that returned the last write of a scheduler.
        self.wrote_at = self.looked_at
        self._clock = clock
        listing = store.list(POD)
        self.uid_of.update((record.name, record.uid) for record in listing.records)
        self._watches = [store.watch(POD, listing.version)]
        if gangs:
            self._watches.append(store.watch(POD_GROUP, store.list(POD_GROUP).version))

    def look(self, pause: float) -> None:
        """Sleep, then record all pending changes.

        Raises:
            TooOldError: the server has compacted changes that were not read yet.
        """
        writes = self._writes()
        if not self.has_begun:
            self.idle_at = self.looked_at
        self._clock.sleep(pause)
        now = self._clock.monotonic()
        for watch in self._watches:
            while events := watch.poll():
                for event in events:
                    self.note(event, now)
        self.looked_at = now
        if self._writes() > writes:
            self.wrote_at = now

    def note(self, event: WatchEvent, now: float) -> None:
        """Record one change that was read at ``now``."""
        record = event.record
        if record.kind == POD_GROUP:
            self.statuses.append((record.name, _GROUP.decode(record.body).status))
            return
        if record.namespace == RUNNING and event.type is EventType.DELETED:
            self.evicted.append((record.name, record.node))
        if record.namespace != MEASURED:
            return
        if record.name not in self.created:
            self.created[record.name] = now
            self.uid_of[record.name] = record.uid
        if record.node and record.name not in self.bound:
            self.bound[record.name] = now
            self.node_of[record.name] = record.node
        if not record.node and _NOMINATED in record.body:
            self.nominated.add(record.name)

    @property
    def has_begun(self) -> bool:
        """True if a scheduler has written a bind, a nomination or an eviction."""
        return bool(self.bound or self.nominated or self.evicted)

    def waits(self, names: Sequence[str]) -> list[float]:
        """Seconds from the first event to the bind of each pod; infinity if it is not bound."""
        return [
            self.bound[name] - self.created[name] if name in self.bound else float("inf")
            for name in names
        ]

    def curve(self) -> PodCurve:
        """Created and bound pods at equal intervals."""
        return curve_of(sorted(self.created.values()), sorted(self.bound.values()))

    def close(self) -> None:
        """Close the watches."""
        for watch in self._watches:
            watch.close()

    def _writes(self) -> int:
        """Number of observed writes, including PodGroup statuses."""
        return len(self.bound) + len(self.nominated) + len(self.evicted) + len(self.statuses)


def curve_of(created: Sequence[float], bound: Sequence[float]) -> PodCurve:
    """Convert two ascending lists of times into counts over a common axis.

    >>> curve_of([10.0, 11.0], [12.0]).scheduled[-1]
    1
    """
    if not created:
        return PodCurve([], [], [])
    start, end = created[0], max(created[-1], *bound[-1:])
    times = [start + (end - start) * step / POINTS for step in range(POINTS + 1)]
    times[-1] = end
    return PodCurve(
        [round(each - start, 3) for each in times], _counts(created, times), _counts(bound, times)
    )


def _counts(moments: Sequence[float], times: Sequence[float]) -> list[int]:
    counts, done = [], 0
    for time in times:
        while done < len(moments) and moments[done] <= time:
            done += 1
        counts.append(done)
    return counts
