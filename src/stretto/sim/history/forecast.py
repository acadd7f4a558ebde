"""When a waiting pod is expected to start: the plane's future, run in virtual time on a copy.

The copy holds what the store holds. What runs goes on until its run time is over, what waits is
tried in the order in which it came, and the copy's plane (same rules, same queues) decides as the
plane itself would. What is not known is what will come: the forecast is of the queue as it is, so
whoever may be passed by later work (by priority, by a short run time) may start later than told.

Run times are known where pods state them (``stretto.dev/duration``). Elsewhere ``TypicalRunTimes``
learns them from what has ended: the median of units of the same size, and for what runs already the
median of those that ran longer than it has.

A gang whose time (``scheduleTimeoutSeconds``) is over before it starts never starts: the copy gives
it up when the plane would, and the forecast says when that is.
"""

import heapq
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby
from math import ceil, inf, isfinite
from typing import Final, NamedTuple

import msgspec

from stretto.api.codec import set_fields
from stretto.api.kinds.table import all_kinds
from stretto.api.types.heads import NO_BYTES, decode_pod_head
from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.dispatcher.membership import DURATION, group_unit, read_duration
from stretto.plane.plane import Plane
from stretto.sim.world import AT_ONCE, POLLED, require_accepted
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.units import Unit
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Bind, Deletion, Record

HORIZON_S: Final = 366 * 86_400.0
"""Seconds that are looked ahead: a year."""
PATIENCE: Final = 8
"""Times in a row that a plane may ask for more time and start nothing."""
SOON_S: Final = 0.1
"""Seconds that pass where a plane has something to do at once."""
FEW: Final = 5
"""Ended units of a size from which on their median is trusted."""


class KnownRunTime(NamedTuple):
    """What is known of the run time of a pod."""

    #: Pods of its unit.
    pods: int
    #: Seconds that it says it runs; infinity where it says nothing.
    stated_s: float
    #: Seconds that it has run; 0 while it waits.
    ran_s: float = 0.0


Lasts = Callable[[KnownRunTime], float]
"""How many seconds a pod is expected to run from now on."""


def stated_run_times(runner: KnownRunTime) -> float:
    """What pods say of themselves; infinity where they say nothing."""
    return max(0.0, runner.stated_s - runner.ran_s)


class TypicalRunTimes:
    """Run times learnt from what has ended, by the number of pods of a unit."""

    def __init__(self) -> None:
        """Nothing has ended yet."""
        self._by_size: dict[int, list[float]] = {}
        self._all: list[float] = []

    def learn(self, pods: int, seconds: float) -> None:
        """A unit of so many pods has ended after so long."""
        insort(self._by_size.setdefault(_size(pods), []), seconds)
        insort(self._all, seconds)

    def lasts(self, runner: KnownRunTime) -> float:
        """Seconds that a pod is expected to run from now on; infinity before anything ended."""
        of_size, ran = self._by_size.get(_size(runner.pods), []), runner.ran_s
        known = of_size if len(of_size) >= FEW else self._all
        if not known:
            return inf
        longer = known[bisect_right(known, ran) :] if ran > 0 else known
        # Longer than anything that is known: what has run for long goes on for as long again.
        return longer[len(longer) // 2] - ran if longer else ran


class StartForecast(NamedTuple):
    """What is expected of the units that were asked about."""

    #: Seconds from now at which the unit has all the pods it needs, by unit key; infinity where
    #: that does not happen while anything is expected to end.
    after_s: Mapping[str, float]
    #: Seconds from now at which a unit is given up for good, because it has not started by then, by
    #: the key of each for which that is expected; 0 where it has happened.
    late_s: Mapping[str, float]
    #: Instants that were simulated.
    instants: int


def forecast(
    plane: Plane,
    lasts: Lasts = stated_run_times,
    asked: Collection[str] = (),
    horizon_s: float = HORIZON_S,
) -> StartForecast:
    """When the waiting units of a plane are expected to start.

    Args:
        plane: the plane as it is; it is read, and not changed.
        lasts: how long units are expected to run.
        asked: keys of units; all that wait when it is empty.
        horizon_s: how far is looked ahead.
    """
    return _ForecastRun(plane, lasts).run(asked, horizon_s)


class _ForecastRun:
    """A copy of a plane, and what is expected to happen to it."""

    def __init__(self, plane: Plane, lasts: Lasts) -> None:
        self._now = plane.clock.monotonic()
        self._lasts = lasts
        #: (second, pod) at which pods are expected to end.
        self._ends: list[tuple[float, str]] = []
        #: Pods that each waiting unit lacks, and how many of them it needs.
        self._lacks: dict[str, set[str]] = {}
        self._needs: dict[str, int] = {}
        self._lasting: dict[str, float] = {}
        self._owner: dict[str, str] = {}
        self._starts: dict[str, float] = {}
        self._granted: list[int] = []
        #: Seconds from now at which waiting units are given up, where they have a time.
        self._late: dict[str, float] = {}
        running, waiting, others = _sorted(plane)
        first = min((start for start, _, _ in running), default=self._now)
        self._clock = ManualClock(first)
        self._store = MemoryStore(self._clock, Rng(plane.config.seed).child("forecast"))
        self._plane = Plane(plane.config, self._store, self._clock)
        for record in others:
            require_accepted(
                self._store.create(record.kind, [_with_remaining_time(record, plane, first)])
            )
        self._replay(running)
        self._clock.set(self._now)
        self._queue(waiting)
        self._plane.witnesses.append(self._observe_binds)

    def run(self, asked: Collection[str], horizon_s: float) -> StartForecast:
        """Go on until all that were asked about have started, or nothing more can happen."""
        wanted = set(asked or {*self._needs, *self._late})
        horizon, idle, instants = self._now + horizon_s, 0, 0
        while self._is_open(wanted):
            self._plane.run_until_idle()
            instants += 1
            idle = 0 if self._note() else idle + 1
            own = self._plane.next_due() if idle < PATIENCE else inf
            due = min(self._ends[0][0] if self._ends else inf, own)
            if due > horizon:
                break
            self._clock.set(max(due, self._clock.monotonic() + SOON_S))
            idle = 0 if self._end() else idle
        never = wanted - self._starts.keys()
        late = {key: self._late[key] for key in never if self._late.get(key, inf) <= horizon_s}
        return StartForecast({key: self._starts.get(key, inf) for key in wanted}, late, instants)

    def _is_open(self, wanted: Collection[str]) -> bool:
        """Whether any of these units has neither started nor been given up."""
        passed = self._clock.monotonic() - self._now
        return any(key not in self._starts and self._late.get(key, inf) >= passed for key in wanted)

    def _replay(self, running: list[tuple[float, Record, Unit | None]]) -> None:
        """What runs started when it did, so that whoever looks at starts sees them."""
        for start, group in groupby(running, key=lambda each: each[0]):
            self._clock.set(max(start, self._clock.monotonic()))
            found = [(record, unit) for _, record, unit in group]
            for record, unit in found:
                (reply,) = self._store.create(POD, [_own_body(record)])
                made = reply.record
                if made is None:
                    require_accepted([reply])
                    continue
                notes = dict(record.annotations) if record.annotations else None
                bind = Bind(made.namespace, made.name, made.uid, record.node, notes)
                require_accepted(self._store.bind([bind]))
                left = self._lasts(_runner(record, unit, self._now - start))
                if isfinite(left):
                    self._ends.append((self._now + left, _key(record)))
            self._plane.run_until_idle()
        heapq.heapify(self._ends)

    def _queue(self, waiting: list[tuple[Unit, list[Record]]]) -> None:
        """What waits comes again, in the order in which it came."""
        bodies: list[bytes] = []
        for unit, records in waiting:
            if unit.still_needed > 0 and unit.deadline < inf:
                self._late[unit.key] = max(0.0, unit.deadline - self._now)
                if unit.deadline <= self._now:
                    continue
            keys = {_key(record) for record in records}
            lasts = self._lasts(KnownRunTime(unit.size, unit.duration))
            self._lacks[unit.key] = keys
            self._needs[unit.key] = min(len(keys), max(1, unit.still_needed))
            for key in keys:
                self._owner[key] = unit.key
                self._lasting[key] = lasts
            bodies += map(_own_body, records)
        for low in range(0, len(bodies), AT_ONCE):
            require_accepted(self._store.create(POD, bodies[low : low + AT_ONCE]))
        while self._plane.pump.poll(self._now, POLLED):
            pass

    def _observe_binds(self, changes: ClusterChanges, now: float) -> None:
        """Binds as the store tells of them: those that waited for victims are among them."""
        self._granted.extend(changes.bound)

    def _note(self) -> bool:
        """What is bound runs from now on; False where nothing was."""
        pods, now = self._plane.cluster.pods, self._clock.monotonic()
        found = [pods.key(row) for row in self._granted if pods.state[row] == PodState.BOUND]
        self._granted.clear()
        for key in found:
            lasts = self._lasting.get(key, inf)
            if isfinite(lasts):
                heapq.heappush(self._ends, (now + lasts, key))
            unit = self._owner.get(key, "")
            if unit and unit not in self._starts:
                self._lacks[unit].discard(key)
                self._needs[unit] -= 1
                if self._needs[unit] <= 0:
                    self._starts[unit] = now - self._now
        return bool(found)

    def _end(self) -> bool:
        """What is expected to have ended by now has gone; False where nothing has."""
        gone: list[Deletion] = []
        while self._ends and self._ends[0][0] <= self._clock.monotonic():
            space, _, name = heapq.heappop(self._ends)[1].partition("/")
            gone.append(Deletion(space, name))
        if gone:
            self._store.delete(POD, gone)
        return bool(gone)


def _sorted(
    plane: Plane,
) -> tuple[list[tuple[float, Record, Unit | None]], list[tuple[Unit, list[Record]]], list[Record]]:
    """What runs by its start, what waits by its arrival, and all other objects."""
    pods, units = plane.cluster.pods, plane.units
    running: list[tuple[float, Record, Unit | None]] = []
    waiting: dict[Unit, list[Record]] = {}
    for record in plane.store.list(POD).records:
        row = pods.row(record.uid)
        unit = units.of_row(row) if row is not None else None
        if record.node:
            started = float(pods.started[row]) if row is not None else inf
            running.append((min(started, plane.clock.monotonic()), record, unit))
        elif unit is not None:
            waiting.setdefault(unit, []).append(record)
    running.sort(key=lambda each: (each[0], each[1].version))
    in_order = sorted(waiting.items(), key=lambda each: each[0].sequence)
    return running, in_order, list(_others(plane))


def _with_remaining_time(record: Record, plane: Plane, created: float) -> bytes:
    """An object's body; a waiting group that comes again so late has as much time as it had."""
    if record.kind is not POD_GROUP:
        return record.body
    unit = plane.units.by_identity.get(group_unit(f"{record.namespace}/{record.name}"))
    if unit is None or not isfinite(unit.deadline):
        return record.body
    left = max(1, ceil(unit.deadline - created))
    return set_fields(record.body, {("spec", "scheduleTimeoutSeconds"): left})


def _runner(record: Record, unit: Unit | None, ran: float) -> KnownRunTime:
    """What is known of a running pod; the unit of a single one is forgotten once it is bound.

    A unit that was found running does not always know how long: then its pods are asked.
    """
    size = unit.size if unit is not None else 1
    if unit is not None and isfinite(unit.duration):
        return KnownRunTime(size, unit.duration, ran)
    notes = decode_pod_head(record.body).metadata.annotations
    if notes is NO_BYTES or DURATION not in bytes(notes).decode():
        return KnownRunTime(size, inf, ran)
    written = msgspec.json.decode(bytes(notes), type=dict[str, str])
    return KnownRunTime(size, read_duration(written.get(DURATION, ""))[0], ran)


def _others(plane: Plane) -> Iterator[Record]:
    for kind in all_kinds():
        if kind is not POD:
            yield from plane.store.list(kind).records


def _size(pods: int) -> int:
    """Sizes that are learnt together: powers of two."""
    return max(0, pods - 1).bit_length()


def _own_body(record: Record) -> bytes:
    """A pod's body with its own name: pods that differ in their names alone share one."""
    name, namespace = ("metadata", "name"), ("metadata", "namespace")
    return set_fields(record.body, {name: record.name, namespace: record.namespace})


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
