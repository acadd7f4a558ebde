"""The onlooker: what one watch of all pods has shown, and when.

It is attached while a side is measured and while the ceiling is. Times are those at which it saw
a change; it looks every few milliseconds.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.kinds import POD, POD_GROUP
from stretto.base.clock import Clock
from stretto.lab.kube.bench_shapes import MEASURED, RUNNING
from stretto.stores.store import Event, EventType, Store

POINTS: Final = 240
"""Points of a curve."""
_NOMINATED: Final = b'"nominatedNodeName"'


class Curve(NamedTuple):
    """How many pods there were, and how many had a node, over time."""

    #: Seconds since the first pod.
    t: list[float]
    #: Pods created.
    created: list[int]
    #: Pods bound.
    scheduled: list[int]


class _Group(msgspec.Struct, frozen=True):
    """A PodGroup, as far as it is told what became of it."""

    #: What was told.
    status: dict[str, Any] = {}


_GROUP: Final = msgspec.json.Decoder(_Group)


class Onlooker:
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
        self._clock.sleep(pause)
        now = self._clock.monotonic()
        for watch in self._watches:
            while events := watch.poll():
                for event in events:
                    self.note(event, now)
        self.looked_at = now

    def note(self, event: Event, now: float) -> None:
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
    def writes(self) -> int:
        """How many writes of a scheduler there were: bindings, nominations, evictions, statuses."""
        return len(self.bound) + len(self.nominated) + len(self.left) + len(self.told)

    def waits(self, names: Sequence[str]) -> list[float]:
        """Seconds from seen to seen bound of each pod; infinity for one that is not bound."""
        return [
            self.bound[name] - self.created[name] if name in self.bound else float("inf")
            for name in names
        ]

    def curve(self) -> Curve:
        """Created and bound pods over time, at even distances."""
        return curve_of(sorted(self.created.values()), sorted(self.bound.values()))

    def close(self) -> None:
        """Watch no more."""
        for watch in self._watches:
            watch.close()


class Stretch:
    """The time from just before the first write that is seen."""

    def __init__(self, seen: Onlooker) -> None:
        """From now on."""
        self._seen = seen
        self._before = self._bound_at = self._wrote_at = seen.looked_at
        self._writes = seen.writes
        #: Pods seen bound.
        self.bound = 0

    def look(self, pause: float) -> None:
        """Look once more, after a pause."""
        seen = self._seen
        if not seen.writes:
            self._before = seen.looked_at
        seen.look(pause)
        if len(seen.bound) > self.bound:
            self.bound, self._bound_at = len(seen.bound), seen.looked_at
        if seen.writes > self._writes:
            self._writes, self._wrote_at = seen.writes, seen.looked_at

    @property
    def to_binding(self) -> float:
        """Seconds to the last binding so far."""
        return self._bound_at - self._before

    @property
    def to_write(self) -> float:
        """Seconds to the last write so far."""
        return self._wrote_at - self._before

    @property
    def since_binding(self) -> float:
        """Seconds since the last binding."""
        return self._seen.looked_at - self._bound_at

    @property
    def since_write(self) -> float:
        """Seconds since the last write of any kind."""
        return self._seen.looked_at - self._wrote_at


def curve_of(created: Sequence[float], bound: Sequence[float]) -> Curve:
    """Two rising lists of times as counts over a common axis.

    >>> curve_of([10.0, 11.0], [12.0]).scheduled[-1]
    1
    """
    if not created:
        return Curve([], [], [])
    start, end = created[0], max(created[-1], *bound[-1:])
    times = [start + (end - start) * step / POINTS for step in range(POINTS + 1)]
    times[-1] = end
    return Curve(
        [round(each - start, 3) for each in times], _counts(created, times), _counts(bound, times)
    )


def _counts(moments: Sequence[float], times: Sequence[float]) -> list[int]:
    counts, done = [], 0
    for time in times:
        while done < len(moments) and moments[done] <= time:
            done += 1
        counts.append(done)
    return counts
