"""Virtual time over the real plane: an agenda of arrivals and departures, instant by instant.

Time is counted in ticks (whole numbers, so that two things at one instant are at one instant). At
each instant the engine writes what happens to the store, departures first, then arrivals in the
order of the work, and lets the plane run until nothing moves; then it goes on to the next entry of
the agenda, or to the time at which the plane has something to do by itself. Deciding is the
plane's alone. One such step is a *round*; work that lives for no time at all starts in one round
and leaves in the next, at the same instant.
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

from stretto.api.wire.kinds import POD, POD_GROUP, Kind
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import NAMESPACE, object_name, pod_group_body
from stretto.plane.config import Step
from stretto.sim.bodies import PodEncoder
from stretto.sim.world import AT_ONCE, World, require_accepted
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Deletion

NEVER: Final = -1
"""Tick or round of what has not happened."""
PATIENCE: Final = 1000
"""Rounds without a start after which a plane that only asks for more time is not given more."""
_LEAVE, _COME = 0, 1

Ints = npt.NDArray[np.int64]
Arrivals = Callable[[int], None]
"""Told how many arrivals there have been."""


class UnfitPolicy(Enum):
    """What happens to work that does not fit when its turn comes."""

    #: It waits until it does.
    WAIT = "wait"
    #: It is turned away and never comes back.
    REJECT = "reject"


class PodWork(msgspec.Struct, frozen=True, gc=False):
    """One pod, with when it comes and goes.

    Pods of one group come at one instant and are a gang: all of them start, or none.
    """

    #: What is asked for.
    pod: FleetPod
    #: Tick at which it is submitted.
    arrival: int
    #: Ticks that it runs once started; ``None`` where ``departure`` rules, or it stays.
    lifetime: int | None = None
    #: Tick at which it leaves, started or not; ``None`` where ``lifetime`` rules, or it stays.
    departure: int | None = None


class WorkRecord(msgspec.Struct, frozen=True):
    """What became of the work, one entry each; ``NEVER`` for what has not happened."""

    #: int64[work]: tick at which it was bound.
    started: Ints
    #: int64[work]: tick at which it left after it had started.
    ended: Ints
    #: int64[work]: round of the start.
    start_round: Ints
    #: int64[work]: round in which it left.
    end_round: Ints
    #: bool[work]: whether it was turned away, or can never start any more.
    rejected: npt.NDArray[np.bool_]
    #: int64[round]: tick of each round that was run.
    ticks: Ints
    #: Whether it was interrupted: what comes later is not known.
    partial: bool = False


class WorkRunner:
    """Runs work through a world that has its nodes and nothing else."""

    def __init__(
        self,
        world: World,
        work: Sequence[PodWork],
        tick_s: float = 1.0,
        told: Arrivals | None = None,
    ) -> None:
        """An engine for work listed in the order in which equal instants are served.

        Args:
            world: where it happens; where its plane does not retry, what does not fit is rejected.
            work: what comes.
            tick_s: seconds of one tick.
            told: called after each round.
        """
        self._world = world
        self._work = work
        self._tick_s = tick_s
        self._told = told
        self._bodies = PodEncoder()
        self._agenda = [(each.arrival, _COME, i) for i, each in enumerate(work)]
        for i, each in enumerate(work):
            if each.departure is not None:
                self._agenda.append((each.departure, _LEAVE, i))
        heapq.heapify(self._agenda)
        #: Members of each gang that have not left.
        self._members = Counter(each.pod.group for each in work if each.pod.group)
        #: Work by the name of its pod, while that exists.
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
        """Run until nothing can happen any more; Ctrl-C ends it early with what is known."""
        idle, partial = 0, False
        try:
            while (tick := self._next_tick()) is not None and idle < PATIENCE:
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
        """The next instant of the agenda or of the plane; ``None`` when there is none."""
        planned = self._agenda[0][0] if self._agenda else None
        due = self._world.plane.next_due()
        if due == inf or (planned is None and not self._owner):
            return planned
        asked = max(ceil(due / self._tick_s), self._tick + 1) if due > 0 else self._tick + 1
        return asked if planned is None else min(planned, asked)

    def _step(self, tick: int) -> None:
        """One round: what happens at this instant, and what the plane makes of it."""
        self._tick = tick
        self._ticks.append(tick)
        self._world.clock.set(max(tick * self._tick_s, self._world.clock.monotonic()))
        leaving, coming = self._take(tick)
        self._leave(leaving)
        self._come(coming)
        self._world.poll()
        self._world.plane.run_until_idle()
        self._note_starts()
        self._take_back_failed()
        self._round += 1
        if self._told is not None:
            self._told(self._arrived)

    def _take(self, tick: int) -> tuple[list[int], list[int]]:
        """What leaves and what comes at this instant, each in order."""
        leaving: list[int] = []
        coming: list[int] = []
        while self._agenda and self._agenda[0][0] == tick:
            _, what, index = heapq.heappop(self._agenda)
            (coming if what == _COME else leaving).append(index)
        return leaving, coming

    def _come(self, coming: Sequence[int]) -> None:
        """Submit work."""
        groups: dict[str, None] = {}
        bodies: list[bytes] = []
        for index in coming:
            pod = self._work[index].pod
            if pod.group:
                groups[pod.group] = None
            self._owner[object_name(pod.name)] = index
            bodies.append(self._bodies.body(pod))
        self._create(POD_GROUP, [pod_group_body(name, self._members[name]) for name in groups])
        self._create(POD, bodies)
        self._arrived += len(coming)

    def _create(self, kind: Kind, bodies: Sequence[bytes]) -> None:
        for low in range(0, len(bodies), AT_ONCE):
            require_accepted(self._world.store.create(kind, bodies[low : low + AT_ONCE]))

    def _leave(self, leaving: Sequence[int]) -> None:
        """Remove work that has run its time, or that did not start in time."""
        gone = [index for index in leaving if not self._rejected[index]]
        for index in gone:
            if self._started[index] == NEVER:
                self._rejected[index] = True
            else:
                self._ended[index] = self._tick
                self._end_round[index] = self._round
        self._delete(gone)

    def _delete(self, gone: Sequence[int]) -> None:
        """Remove pods, and the groups that they leave empty."""
        pods: list[Deletion] = []
        groups: list[Deletion] = []
        for index in gone:
            pod = self._work[index].pod
            name = object_name(pod.name)
            del self._owner[name]
            pods.append(Deletion(NAMESPACE, name))
            if pod.group:
                self._members[pod.group] -= 1
                if not self._members[pod.group]:
                    groups.append(Deletion(NAMESPACE, object_name(pod.group)))
        for kind, old in ((POD, pods), (POD_GROUP, groups)):
            for low in range(0, len(old), AT_ONCE):
                require_accepted(self._world.store.delete(kind, old[low : low + AT_ONCE]))

    def _observe(self, step: Step) -> None:
        """Note what the plane decided."""
        for verdict in step.verdicts:
            self._granted.extend(verdict.granted.tolist())
        names = self._world.plane.cluster.pods.name
        for failure in step.failed:
            self._given_up.update(self._owner[names[row]] for row in failure.rows)

    def _note_starts(self) -> None:
        """What is bound runs from now on."""
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
                heapq.heappush(self._agenda, (self._tick + lifetime, _LEAVE, index))
        self._granted.clear()

    def _take_back_failed(self) -> None:
        """Take back work that the plane has given up."""
        gone = sorted(self._given_up)
        self._given_up.clear()
        self._rejected[gone] = True
        self._delete(gone)
