"""Replays a recording in virtual time through the real plane: same cluster, same arrivals.

Pods arrive at their recorded seconds, and the plane decides under any profile. A pod that was bound
before the recording started is bound to its recorded node. A pod with a recorded end keeps its
recorded run time; a pod that was deleted while pending is deleted at that second; a pod that
outlived the recording stays. A victim of preemption is created again at once with its whole run
time. Other reactions of controllers, for example to a later start, are not modelled.
"""

import heapq
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import Profile
from stretto.plane.config import Step
from stretto.plane.copy import PlaneSettings, SchedulingRules, build_plane
from stretto.plane.plane import Plane
from stretto.sim.history.histories import PodHistory, ReplayHistory
from stretto.sim.history.what_if import NodeDrain, queues_of
from stretto.sim.history.writer import HistoryWriter, deleted_keys, on_node
from stretto.sim.occupancy import OccupancySample, OccupancySampler
from stretto.state.rows.lifecycle import PodState

POLLED: Final = 1 << 30
"""Upper bound of events per poll before a decision: all of them."""
IDLE_STEPS: Final = 1000
"""Steps without a start and with an empty agenda after which the replay ends."""

_OnTime = Callable[[float], None]
_Action = Callable[[], None]


class WaitFigures(msgspec.Struct, frozen=True):
    """Figures of the pods of a recording or of its replay."""

    #: Pods that arrived during that time, or were pending at its start.
    pods: int
    #: Those pods that were bound.
    placed: int
    #: Those pods that were deleted without a node.
    left_waiting: int
    #: Those pods that were pending at the end.
    pending: int
    #: Mean seconds from arrival to bind of the bound pods.
    mean_wait_s: float
    #: 95th percentile of the seconds from arrival to bind.
    p95_wait_s: float
    #: Maximum of the seconds from arrival to bind.
    max_wait_s: float


class ReplayOutcomes(WaitFigures, frozen=True):
    """Results of one replay."""

    #: Pods that were evicted for other pods.
    evicted: int
    #: Writes that the store refused.
    refused: int
    #: Reason of the first refused write; empty for none.
    refusal: str
    #: Seconds covered.
    seconds: float
    #: Mean used part of the allocatable amount (0..1), by resource.
    used_mean: dict[str, float]
    #: Peak used part of the allocatable amount (0..1), by resource.
    used_peak: dict[str, float]
    #: True if the replay was interrupted.
    partial: bool = False


class ReplayResult(msgspec.Struct, frozen=True):
    """One replay."""

    #: Results.
    outcomes: ReplayOutcomes
    #: Occupancy and pending pods over time.
    levels: list[OccupancySample]
    #: Seconds from arrival to bind, by ``namespace/name``.
    waits: dict[str, float]


class Replay:
    """Replays one history, with or without variations."""

    def __init__(
        self,
        history: ReplayHistory,
        drains: Sequence[NodeDrain],
        rules: SchedulingRules,
        settings: PlaneSettings,
    ) -> None:
        """Create the initial objects in a store and build the plane over it.

        Args:
            history: the history, with variations applied.
            drains: nodes that are drained during the replay.
            rules: profile, kernels and plugins.
            settings: settings of the plane.
        """
        self._history = history
        self._clock = ManualClock()
        self._writer = HistoryWriter(self._clock, Rng(settings.seed).child("replay"))
        self._agenda: list[tuple[float, int, _Action]] = []
        self._count = 0
        self._pods: dict[str, PodHistory] = {}
        self._arriving: list[PodHistory] = []
        self._upcoming_count = 0
        self._started: dict[str, float] = {}
        self._granted: list[int] = []
        self._deleted_pending: set[str] = set()
        self._evicted = 0
        self._begin(history, drains)
        names = settings.scheduler_names | history.scheduler_names
        settings = settings._replace(scheduler_names=names)
        store = self._writer.store
        self._plane: Plane = build_plane(rules, settings, queues_of(history), store, self._clock)
        self._plane.observers.append(self._observe)
        self._watch = store.watch(POD, store.version)
        self._occupancy = OccupancySampler(self._plane.cluster)

    @property
    def profile(self) -> Profile:
        """The profile of the plane."""
        return self._plane.config.profile

    def run(self, on_time: _OnTime = lambda _: None) -> ReplayResult:
        """Run to the end of the recording; Ctrl-C ends the replay with a partial result."""
        interrupted, idle = False, 0
        try:
            while (time := self._next()) is not None and idle < IDLE_STEPS:
                before = len(self._started)
                self._step(time)
                idle = 0 if self._agenda or len(self._started) > before else idle + 1
                on_time(time)
            self._clock.set(max(self._history.seconds, self._clock.monotonic()))
            self._sample()  # the state is constant from the last step to the end
        except KeyboardInterrupt:
            interrupted = True
        return self._result(interrupted)

    # ------------------------------------------------------------ the agenda

    def _begin(self, history: ReplayHistory, drains: Sequence[NodeDrain]) -> None:
        """Create the initial objects and schedule everything else."""
        self._writer.create((each.kind, each.body) for each in history.objects)
        initial: list[tuple[Kind, dict[str, Any]]] = []
        for pod in history.pods:
            self._pods[_key(pod)] = pod
            if pod.arrived == 0 and pod.bound == 0:
                initial.append((POD, on_node(pod)))
                self._at(pod.ended, partial(self._end, pod))
            elif pod.arrived == 0:
                initial.append((POD, pod.body))
                self._schedule_deletion(pod)
            else:
                self._upcoming_count += 1
                self._at(pod.arrived, partial(self._arrive, pod))
                self._schedule_deletion(pod)
        self._writer.create(initial)
        for change in history.changes:
            self._at(change.time_s, partial(self._writer.apply, change))
        for drain in drains:
            self._at(drain.at, partial(self._writer.drain, drain))

    def _arrive(self, pod: PodHistory) -> None:
        self._upcoming_count -= 1
        self._arriving.append(pod)

    def _schedule_deletion(self, pod: PodHistory) -> None:
        """Schedule the deletion of a pod that was deleted without having had a node."""
        if pod.bound == inf and pod.ended < inf:
            self._at(pod.ended, partial(self._delete_pending, pod))

    def _at(self, time: float, action: _Action) -> None:
        if time < inf:
            self._count += 1
            heapq.heappush(self._agenda, (time, self._count, action))

    def _next(self) -> float | None:
        """The next instant of the agenda or of the plane, up to the end; ``None`` for none."""
        planned = self._agenda[0][0] if self._agenda else inf
        now = self._clock.monotonic()
        due = self._plane.next_due()
        wanted = min(planned, max(due, now + 0.001) if self._occupancy.levels else 0.0)
        return wanted if wanted <= self._history.seconds else None

    def _step(self, time: float) -> None:
        self._clock.set(max(time, self._clock.monotonic()))
        while self._agenda and self._agenda[0][0] <= time:
            heapq.heappop(self._agenda)[2]()
        self._writer.create_pods(self._arriving)
        for pod in self._arriving:
            if pod.fixed:
                self._at(pod.ended, partial(self._end, pod))
        self._arriving.clear()
        while self._plane.pump.poll(time, POLLED):
            pass
        self._plane.run_until_idle()
        self._note_starts(time)
        self._recreate_victims()
        self._sample()

    def _sample(self) -> None:
        """Sample the occupancy; pods that have not arrived are not pending."""
        self._occupancy.sample(self._clock.monotonic(), len(self._pods) - self._upcoming_count)

    # ------------------------------------------------------------ events

    def _end(self, pod: PodHistory) -> None:
        """Delete a pod that has ended."""
        if self._pods.pop(_key(pod), None) is not None:
            self._writer.delete_pod(pod)

    def _delete_pending(self, pod: PodHistory) -> None:
        """Delete a pod that is still pending at the second of its recorded deletion."""
        if _key(pod) in self._pods and _key(pod) not in self._started:
            self._deleted_pending.add(_key(pod))
            self._end(pod)

    def _observe(self, step: Step) -> None:
        for verdict in step.verdicts:
            self._granted.extend(verdict.granted.tolist())

    def _note_starts(self, time: float) -> None:
        """Start the run time of bound pods."""
        pods = self._plane.cluster.pods
        rows, self._granted = self._granted, []
        for row in rows:
            pod = self._pods.get(pods.key(row))
            if pod is None:
                continue
            if pods.state[row] != PodState.BOUND:
                self._granted.append(row)  # its victims still exist; checked again in the next step
                continue
            self._started.setdefault(_key(pod), time)
            self._at(time + pod.run_time, partial(self._end, pod))

    def _recreate_victims(self) -> None:
        """Create evicted pods again, as their controllers would."""
        victims = [self._pods[key] for key in deleted_keys(self._watch) if key in self._pods]
        self._evicted += len(victims)
        self._writer.create((POD, pod.body) for pod in victims)

    # ------------------------------------------------------------ the result

    def _result(self, interrupted: bool) -> ReplayResult:
        counted = arrived_pods(self._history)
        waits = {
            _key(pod): self._started[_key(pod)] - pod.arrived
            for pod in counted
            if _key(pod) in self._started
        }
        ordered = sorted(waits.values())
        refusals = self._writer.refusals
        outcomes = ReplayOutcomes(
            pods=len(counted),
            placed=len(waits),
            left_waiting=len(self._deleted_pending),
            pending=len(counted) - len(waits) - len(self._deleted_pending),
            mean_wait_s=round(sum(ordered) / len(ordered), 3) if ordered else 0.0,
            p95_wait_s=round(ordered[int(0.95 * (len(ordered) - 1))], 3) if ordered else 0.0,
            max_wait_s=round(ordered[-1], 3) if ordered else 0.0,
            evicted=self._evicted,
            refused=len(refusals),
            refusal=refusals[0] if refusals else "",
            seconds=round(self._clock.monotonic(), 3),
            used_mean=self._occupancy.mean(),
            used_peak=self._occupancy.peak(),
            partial=interrupted,
        )
        return ReplayResult(outcomes, self._occupancy.levels, waits)


def arrived_pods(history: ReplayHistory) -> list[PodHistory]:
    """Pods that a scheduler decided on: they arrived later or were pending at the start."""
    return [pod for pod in history.pods if not pod.fixed and not _was_running(pod)]


def recorded_waits(history: ReplayHistory) -> list[float]:
    """Recorded seconds from arrival to bind of the pods that a scheduler decided on, ascending."""
    return sorted(pod.bound - pod.arrived for pod in arrived_pods(history) if pod.bound < inf)


def _was_running(pod: PodHistory) -> bool:
    return pod.arrived == 0 and pod.bound == 0


def _key(pod: PodHistory) -> str:
    return f"{pod.namespace}/{pod.name}"
