"""Forecasts when pending pods start: a sandbox of the plane runs ahead in virtual time.

The sandbox contains the objects of the store. Running pods end after their run times, pending units
are tried in the order of their arrival, and the sandbox's plane decides with the same rules and
queues. Future arrivals are unknown: a unit that later work can overtake (by priority or by a short
run time) may start later than forecast.

Pods state their run times by ``stretto.dev/duration``. For other pods, ``TypicalRunTimes`` uses the
median of ended units of the same size; for running units, the median of the units that ran longer.

A gang whose ``scheduleTimeoutSeconds`` passes before it starts never starts: the sandbox gives it
up when the plane would, and the forecast reports that time.
"""

import heapq
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Mapping
from itertools import groupby
from math import inf, isfinite
from typing import Final, NamedTuple

from stretto.api.wire.kinds import POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.plane.plane import Plane
from stretto.sim.history.resubmit import (
    body_of,
    other_objects,
    stated_run_time,
    with_remaining_time,
)
from stretto.sim.world import POLLED
from stretto.sim.writes import create_all, require_accepted
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.units import Unit
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Bind, Deletion, Record

HORIZON_S: Final = 366 * 86_400.0
"""Length of a forecast in seconds: a year."""
IDLE_STEPS: Final = 8
"""Consecutive deadlines of the plane without a start after which only ends advance the time."""
SOON_S: Final = 0.1
"""Seconds by which the time advances if the plane is due immediately."""
ENOUGH: Final = 5
"""Minimum number of ended units of a size for the use of their median."""


class KnownRunTime(NamedTuple):
    """Known facts about the run time of a pod."""

    #: Number of pods of its unit.
    pods: int
    #: Stated run time in seconds; infinity if none is stated.
    stated_s: float
    #: Seconds since the start; 0 while it is pending.
    ran_s: float = 0.0


Lasts = Callable[[KnownRunTime], float]
"""Expected remaining run time of a pod in seconds."""


def stated_run_times(runner: KnownRunTime) -> float:
    """Remaining stated run time in seconds; infinity if none is stated."""
    return max(0.0, runner.stated_s - runner.ran_s)


class TypicalRunTimes:
    """Typical run times from ended units, by the number of their pods."""

    def __init__(self) -> None:
        """Start without ended units."""
        self._by_size: dict[int, list[float]] = {}
        self._all: list[float] = []

    def learn(self, pods: int, seconds: float) -> None:
        """Add the run time of an ended unit."""
        insort(self._by_size.setdefault(_size(pods), []), seconds)
        insort(self._all, seconds)

    def lasts(self, runner: KnownRunTime) -> float:
        """Expected remaining run time in seconds; infinity if no unit has ended."""
        of_size, ran = self._by_size.get(_size(runner.pods), []), runner.ran_s
        known = of_size if len(of_size) >= ENOUGH else self._all
        if not known:
            return inf
        longer = known[bisect_right(known, ran) :] if ran > 0 else known
        # If it has run longer than all ended units, expect it to run as long again.
        return longer[len(longer) // 2] - ran if longer else ran


class StartForecast(NamedTuple):
    """The forecast of the requested units."""

    #: Seconds from now until the unit has all pods that it needs, by unit key; infinity if no
    #: expected end of other pods lets it start.
    after_s: Mapping[str, float]
    #: Seconds from now until a unit is given up at its deadline, by unit key, for the units for
    #: which this is expected; 0 if it has already been given up.
    late_s: Mapping[str, float]
    #: Number of simulated instants.
    instants: int


def forecast(
    plane: Plane,
    lasts: Lasts = stated_run_times,
    units: Collection[str] = (),
    horizon_s: float = HORIZON_S,
) -> StartForecast:
    """Forecast when the pending units of a plane start.

    Args:
        plane: the plane; it is read and not changed.
        lasts: expected run times.
        units: keys of units; all pending units if it is empty.
        horizon_s: length of the forecast in seconds.
    """
    return _ForecastRun(plane, lasts).run(units, horizon_s)


class _ForecastRun:
    """A sandbox of a plane with the expected ends of its pods."""

    def __init__(self, plane: Plane, lasts: Lasts) -> None:
        self._now = plane.clock.monotonic()
        self._lasts = lasts
        #: (second, pod key): expected ends.
        self._ends: list[tuple[float, str]] = []
        #: Unbound pods of each pending unit, and how many of them it needs to start.
        self._lacks: dict[str, set[str]] = {}
        self._needs: dict[str, int] = {}
        self._lasting: dict[str, float] = {}
        self._owner: dict[str, str] = {}
        self._starts: dict[str, float] = {}
        self._granted: list[int] = []
        #: Seconds from now at which pending units are given up, if they have a deadline.
        self._late: dict[str, float] = {}
        running, pending = _sorted(plane)
        first = min((start for start, _, _ in running), default=self._now)
        self._clock = ManualClock(first)
        self._store = MemoryStore(self._clock, Rng(plane.config.seed).child("forecast"))
        self._plane = Plane(plane.config, self._store, self._clock)
        for record in other_objects(plane.store):
            require_accepted(
                self._store.create(record.kind, [with_remaining_time(record, plane, first)])
            )
        self._replay(running)
        self._clock.set(self._now)
        self._queue(pending)
        self._plane.witnesses.append(self._observe_binds)

    def run(self, units: Collection[str], horizon_s: float) -> StartForecast:
        """Run until all requested units have started, or nothing more can happen."""
        wanted = set(units or {*self._needs, *self._late})
        horizon, idle, instants = self._now + horizon_s, 0, 0
        while self._is_open(wanted):
            self._plane.run_until_idle()
            instants += 1
            idle = 0 if self._note_binds() else idle + 1
            own = self._plane.next_due() if idle < IDLE_STEPS else inf
            due = min(self._ends[0][0] if self._ends else inf, own)
            if due > horizon:
                break
            self._clock.set(max(due, self._clock.monotonic() + SOON_S))
            idle = 0 if self._delete_ended() else idle
        never = wanted - self._starts.keys()
        late = {key: self._late[key] for key in never if self._late.get(key, inf) <= horizon_s}
        return StartForecast({key: self._starts.get(key, inf) for key in wanted}, late, instants)

    def _is_open(self, wanted: Collection[str]) -> bool:
        """True if a unit has neither started nor been given up."""
        passed = self._clock.monotonic() - self._now
        return any(key not in self._starts and self._late.get(key, inf) >= passed for key in wanted)

    def _replay(self, running: list[tuple[float, Record, Unit | None]]) -> None:
        """Bind the running pods at their recorded start times, so that start times are equal."""
        for start, group in groupby(running, key=lambda each: each[0]):
            self._clock.set(max(start, self._clock.monotonic()))
            found = [(record, unit) for _, record, unit in group]
            for record, unit in found:
                (reply,) = self._store.create(POD, [body_of(record)])
                made = reply.record
                if made is None:
                    require_accepted([reply])
                    continue
                notes = dict(record.annotations) if record.annotations else None
                bind = Bind(made.namespace, made.name, made.uid, record.node, notes)
                require_accepted(self._store.bind([bind]))
                remaining = self._lasts(_runner(record, unit, self._now - start))
                if isfinite(remaining):
                    self._ends.append((self._now + remaining, _key(record)))
            self._plane.run_until_idle()
        heapq.heapify(self._ends)

    def _queue(self, pending: list[tuple[Unit, list[Record]]]) -> None:
        """Submit the pending units in the order of their arrival."""
        bodies: list[bytes] = []
        for unit, records in pending:
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
            bodies += map(body_of, records)
        create_all(self._store, POD, bodies)
        while self._plane.pump.poll(self._now, POLLED):
            pass

    def _observe_binds(self, changes: ClusterChanges, now: float) -> None:
        """Collect binds from the store's events, which include those that waited for victims."""
        self._granted.extend(changes.bound)

    def _note_binds(self) -> bool:
        """Start the run time of bound pods; false if no pod was bound."""
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

    def _delete_ended(self) -> bool:
        """Delete the pods that have ended; false without such pods."""
        ended: list[Deletion] = []
        while self._ends and self._ends[0][0] <= self._clock.monotonic():
            space, _, name = heapq.heappop(self._ends)[1].partition("/")
            ended.append(Deletion(space, name))
        if ended:
            self._store.delete(POD, ended)
        return bool(ended)


def _sorted(
    plane: Plane,
) -> tuple[list[tuple[float, Record, Unit | None]], list[tuple[Unit, list[Record]]]]:
    """Running pods by start time, and pending units with their pods by arrival."""
    pods, units = plane.cluster.pods, plane.units
    running: list[tuple[float, Record, Unit | None]] = []
    pending: dict[Unit, list[Record]] = {}
    for record in plane.store.list(POD).records:
        row = pods.row(record.uid)
        unit = units.of_row(row) if row is not None else None
        if record.node:
            started = float(pods.started[row]) if row is not None else inf
            running.append((min(started, plane.clock.monotonic()), record, unit))
        elif unit is not None:
            pending.setdefault(unit, []).append(record)
    running.sort(key=lambda each: (each[0], each[1].version))
    return running, sorted(pending.items(), key=lambda each: each[0].sequence)


def _runner(record: Record, unit: Unit | None, ran: float) -> KnownRunTime:
    """Known run time of a running pod, from its unit or else from its annotation.

    The unit of a single pod is dropped at the bind, and a unit that was already running when the
    plane started may have no duration.
    """
    size = unit.size if unit is not None else 1
    if unit is not None and isfinite(unit.duration):
        return KnownRunTime(size, unit.duration, ran)
    return KnownRunTime(size, stated_run_time(record), ran)


def _size(pods: int) -> int:
    """Class of sizes that share run times: powers of two."""
    return max(0, pods - 1).bit_length()


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
