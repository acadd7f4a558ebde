"""Runs work through the real plane in virtual time, by an agenda of arrivals and departures.

Time is counted in ticks, which are whole numbers, so equal instants compare equal. At each instant
the engine writes the departures to the store, then the arrivals in the order of the work, and runs
the plane until it is idle. Then it proceeds to the next entry of the agenda or to the next deadline
of the plane. Only the plane decides. One such step is a *round*; work without a lifetime starts in
one round and ends in the next, at the same instant.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from math import ceil, inf
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, POD, POD_GROUP
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import object_name, pod_group_body
from stretto.plane.config import Step
from stretto.sim.bodies import PodEncoder
from stretto.sim.world import World
from stretto.sim.writes import AT_ONCE, batches, create_all, require_accepted
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Deletion

NEVER: Final = -1
"""Tick or round of an event that has not happened."""
IDLE_ROUNDS: Final = 1000
"""Rounds without a start and with an empty agenda after which the run ends."""
_DEPARTURE, _ARRIVAL = 0, 1

Ints = npt.NDArray[np.int64]
OnArrivals = Callable[[int], None]
"""Receives the number of arrivals so far."""


class UnfitPolicy(Enum):
    """Treatment of work that does not fit."""

    #: It stays pending until it fits.
    WAIT = "wait"
    #: It is rejected and not retried.
    REJECT = "reject"


class PodWork(msgspec.Struct, frozen=True, gc=False):
    """One pod with its arrival and its end.

    Pods of one group arrive at one instant and are a gang: all of them start, or none.
    """

    #: The pod and its requests.
    pod: FleetPod
    #: Tick at which it is submitted.
    arrival: int
    #: Run time in ticks; ``None`` if ``departure`` is set or the pod does not end.
    lifetime: int | None = None
    #: Tick at which it is deleted even if it has not started; ``None`` if ``lifetime`` is set or
    #: the pod does not end.
    departure: int | None = None


class WorkRecord(msgspec.Struct, frozen=True):
    """Results of the work, one entry each; ``NEVER`` marks an event that has not happened."""

    #: int64[work]: tick of the bind.
    started: Ints
    #: int64[work]: tick of the end, for work that had started.
    ended: Ints
    #: int64[work]: round of the bind.
    start_round: Ints
    #: int64[work]: round of the end.
    end_round: Ints
    #: bool[work]: true if it was rejected, or can no longer start.
    rejected: npt.NDArray[np.bool_]
    #: int64[round]: tick of each round.
    ticks: Ints
    #: True if the run was interrupted, so that later events are missing.
    partial: bool = False


class WorkRunner:
    """Runs work through a world that contains only nodes."""

    def __init__(
        self,
        world: World,
        work: Sequence[PodWork],
        tick_s: float = 1.0,
        on_arrivals: OnArrivals | None = None,
    ) -> None:
        """Create an engine.

        Args:
            world: the world; if its plane does not retry, work that does not fit is rejected.
            work: the work, in the order in which arrivals of one instant are submitted.
            tick_s: seconds per tick.
            on_arrivals: called after each round.
        """
        self._world = world
        self._work = work
        self._tick_s = tick_s
        self._on_arrivals = on_arrivals
        self._bodies = PodEncoder()
        self._agenda = [(each.arrival, _ARRIVAL, i) for i, each in enumerate(work)]
        for i, each in enumerate(work):
            if each.departure is not None:
                self._agenda.append((each.departure, _DEPARTURE, i))
        heapq.heapify(self._agenda)
        #: Members of each gang that are not deleted.
        self._members = Counter(each.pod.group for each in work if each.pod.group)
        #: Index of the work by the name of its pod, while the pod exists.
        self._owner: dict[str, int] = {}
        self._granted: list[int] = []
        self._given_up: set[int] = set()
        self._ticks: list[int] = []
        self._arrived = self._placed = self._round = self._tick = 0
        self._started, self._ended, self._start_round, self._end_round = np.full(
            (4, len(work)), NEVER, np.int64
        )
        self._rejected = np.zeros(len(work), np.bool_)
        world.plane.observers.append(self._observe)

    def run(self) -> WorkRecord:
        """Run until nothing more can happen; Ctrl-C ends the run with a partial record."""
        idle, partial = 0, False
        try:
            while (tick := self._next_tick()) is not None and idle < IDLE_ROUNDS:
                placed = self._placed
                self._step(tick)
                idle = 0 if self._agenda or self._placed > placed else idle + 1
            self._rejected |= self._started == NEVER
        except KeyboardInterrupt:
            partial = True
        return WorkRecord(
            started=self._started,
            ended=self._ended,
            start_round=self._start_round,
            end_round=self._end_round,
            rejected=self._rejected,
            ticks=np.array(self._ticks, np.int64),
            partial=partial,
        )

    def _next_tick(self) -> int | None:
        """The next instant of the agenda or of the plane; ``None`` if there is none."""
        planned = self._agenda[0][0] if self._agenda else None
        due = self._world.plane.next_due()
        if due == inf or (planned is None and not self._owner):
            return planned
        own = max(ceil(due / self._tick_s), self._tick + 1) if due > 0 else self._tick + 1
        return own if planned is None else min(planned, own)

    def _step(self, tick: int) -> None:
        """Run one round: the departures and arrivals of an instant, and the plane's decisions."""
        self._tick = tick
        self._ticks.append(tick)
        self._world.clock.set(max(tick * self._tick_s, self._world.clock.monotonic()))
        departures, arrivals = self._take(tick)
        self._end(departures)
        self._submit(arrivals)
        self._world.poll()
        self._world.plane.run_until_idle()
        self._note_starts()
        self._reject_failed()
        self._round += 1
        if self._on_arrivals is not None:
            self._on_arrivals(self._arrived)

    def _take(self, tick: int) -> tuple[list[int], list[int]]:
        """The departures and the arrivals of this instant, each in order."""
        departures: list[int] = []
        arrivals: list[int] = []
        while self._agenda and self._agenda[0][0] == tick:
            _, what, index = heapq.heappop(self._agenda)
            (arrivals if what == _ARRIVAL else departures).append(index)
        return departures, arrivals

    def _submit(self, arrivals: Sequence[int]) -> None:
        """Create the pods and groups of work."""
        groups: dict[str, None] = {}
        bodies: list[bytes] = []
        for index in arrivals:
            pod = self._work[index].pod
            if pod.group:
                groups[pod.group] = None
            self._owner[object_name(pod.name)] = index
            bodies.append(self._bodies.body(pod))
        create_all(
            self._world.store,
            POD_GROUP,
            [pod_group_body(name, self._members[name]) for name in groups],
        )
        create_all(self._world.store, POD, bodies)
        self._arrived += len(arrivals)

    def _end(self, departures: Sequence[int]) -> None:
        """Delete work that has ended, or that has not started by its departure."""
        ended = [index for index in departures if not self._rejected[index]]
        for index in ended:
            if self._started[index] == NEVER:
                self._rejected[index] = True
            else:
                self._ended[index] = self._tick
                self._end_round[index] = self._round
        self._delete(ended)

    def _delete(self, indices: Sequence[int]) -> None:
        """Delete the pods of work, and groups without remaining pods."""
        pods: list[Deletion] = []
        groups: list[Deletion] = []
        for index in indices:
            pod = self._work[index].pod
            name = object_name(pod.name)
            del self._owner[name]
            pods.append(Deletion(DEFAULT_NAMESPACE, name))
            if pod.group:
                self._members[pod.group] -= 1
                if not self._members[pod.group]:
                    groups.append(Deletion(DEFAULT_NAMESPACE, object_name(pod.group)))
        for kind, old in ((POD, pods), (POD_GROUP, groups)):
            for part in batches(old, AT_ONCE):
                require_accepted(self._world.store.delete(kind, part))

    def _observe(self, step: Step) -> None:
        """Record the plane's decisions."""
        for verdict in step.verdicts:
            self._granted.extend(verdict.granted.tolist())
        names = self._world.plane.cluster.pods.name
        for failure in step.failed:
            self._given_up.update(self._owner[names[row]] for row in failure.rows)

    def _note_starts(self) -> None:
        """Start the lifetime of bound pods."""
        pods = self._world.plane.cluster.pods
        for row in self._granted:
            if pods.state[row] != PodState.BOUND:
                continue
            index = self._owner[pods.name[row]]
            self._placed += 1
            self._started[index] = self._tick
            self._start_round[index] = self._round
            lifetime = self._work[index].lifetime
            if lifetime is not None:
                heapq.heappush(self._agenda, (self._tick + lifetime, _DEPARTURE, index))
        self._granted.clear()

    def _reject_failed(self) -> None:
        """Reject work that the plane has given up."""
        failed = sorted(self._given_up)
        self._given_up.clear()
        self._rejected[failed] = True
        self._delete(failed)
