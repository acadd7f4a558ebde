"""The onlooker: what one watch of all pods has shown, and when.

It is attached while a side is measured and while the ceiling is. Times are those at which it saw
a change; it looks every few milliseconds.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.clock import Clock
from stretto.stores.store import EventType, Store, WatchEvent
from stretto_lab.bench_kube.shapes import MEASURED, RUNNING

POINTS: Final = 240
"""Points of a curve."""
_NOMINATED: Final = b'"nominatedNodeName"'


class PodCurve(NamedTuple):
    """How many pods there were, and how many had a node, over time."""

    #: Seconds since the first pod.
    t: list[float]
    #: Pods created.
    created: list[int]
    #: Pods bound.
    scheduled: list[int]


class _WatchedGroup(msgspec.Struct, frozen=True):
    """A PodGroup, as far as it is told what became of it."""

    #: What was told.
    status: dict[str, Any] = {}


_GROUP: Final = msgspec.json.Decoder(_WatchedGroup)


class PodWatcher:
    """One watch of all pods; only the measured ones and those that leave are noted.

    Where there are gangs, a second one of their groups.
    """

    def __init__(self, store: Store, clock: Clock, *, gangs: bool = False) -> None:
        """Watch from now on."""
        #: When each measured pod was first seen.
        self.created: dict[str, float] = {}
        #: When each was first seen with a node.
        self.bound: dict[str, float] = {}
        #: The node of each that has one.
        self.node_of: dict[str, str] = {}
        #: The uid of each pod, also of those that ran before.
        self.uid_of: dict[str, str] = {}
        #: Those that were promised a node before they had it.
        self.nominated: set[str] = set()
        #: Pods that ran and have left: name and node.
        self.left: list[tuple[str, str]] = []
        #: What PodGroups were told, write by write: name and status.
        self.told: list[tuple[str, dict[str, Any]]] = []
        #: Time of the last look.
        self.looked_at = clock.monotonic()
        #: Time of the last look before a scheduler had begun.
        self.idle_at = self.looked_at
        #: Time of the look that showed the last write of a scheduler.
        self.wrote_at = self.looked_at
        self._clock = clock
        listing = store.list(POD)
        self.uid_of.update((record.name, record.uid) for record in listing.records)
        self._watches = [store.watch(POD, listing.version)]
        if gangs:
            self._watches.append(store.watch(POD_GROUP, store.list(POD_GROUP).version))

    def look(self, pause: float) -> None:
        """Give the processor away for a moment, then note what has come.

        Raises:
            TooOldError: the server has forgotten what we have not seen yet.
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
        """Note one change that was seen at a time."""
        record = event.record
        if record.kind == POD_GROUP:
            self.told.append((record.name, _GROUP.decode(record.body).status))
            return
        if record.namespace == RUNNING and event.type is EventType.DELETED:
            self.left.append((record.name, record.node))
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
        """Whether a scheduler has written anything yet: a binding, a nomination, an eviction."""
        return bool(self.bound or self.nominated or self.left)

    def waits(self, names: Sequence[str]) -> list[float]:
        """Seconds from seen to seen bound of each pod; infinity for one that is not bound."""
        return [
            self.bound[name] - self.created[name] if name in self.bound else float("inf")
            for name in names
        ]

    def curve(self) -> PodCurve:
        """Created and bound pods over time, at even distances."""
        return curve_of(sorted(self.created.values()), sorted(self.bound.values()))

    def close(self) -> None:
        """Watch no more."""
        for watch in self._watches:
            watch.close()

    def _writes(self) -> int:
        """How many writes there were, of any kind: what PodGroups are told too."""
        return len(self.bound) + len(self.nominated) + len(self.left) + len(self.told)


def curve_of(created: Sequence[float], bound: Sequence[float]) -> PodCurve:
    """Two rising lists of times as counts over a common axis.

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
