"""A recording once more, in virtual time, through the real plane: same cluster, same arrivals.

Pods come when they came. The scheduler that decides is ours, under any profile; a pod that was
bound before the recording began starts where it was. A pod that was seen to end runs as long after
its start as it did then; one that was deleted while it waited leaves at that second; one that
outlived the recording stays. A victim of preemption is submitted anew at once and runs its whole
time again. What controllers would have done otherwise (because a pod started later, say) is not
modelled.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.kinds.table import entry_of
from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import Profile
from stretto.inputs.objects.recordings import ChangeType, RecordedChange
from stretto.plane.config import Step
from stretto.plane.copy import PlaneSettings, SchedulingRules, build_plane
from stretto.plane.plane import Plane
from stretto.sim.history.histories import PodHistory, ReplayHistory
from stretto.sim.history.what_if import NodeDrain, queues_of
from stretto.sim.occupancy import OccupancyMeter, OccupancySample
from stretto.sim.world import POLLED
from stretto.state.rows.lifecycle import PodState
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, EventType, Patch, Replies, Update, WriteOutcome

AT_ONCE: Final = 4096
"""Objects written in one call."""
PATIENCE: Final = 1000
"""Looks without a start after which a plane that only asks for more time is not given more."""

_Told = Callable[[float], None]
_Action = Callable[[], None]


class ReplayOutcomes(msgspec.Struct, frozen=True):
    """What became of the pods of one replay."""

    #: Pods that came while it ran, or waited at its start.
    pods: int
    #: Those of them that got a node.
    placed: int
    #: Those that left without one.
    left_waiting: int
    #: Those that still waited at the end.
    pending: int
    #: Seconds from arrival to bind of those that got a node: mean, 95th percentile, longest.
    mean_wait_s: float
    p95_wait_s: float
    max_wait_s: float
    #: Pods that had to leave for others.
    evicted: int
    #: Objects that the store refused, with the first reason.
    refused: int
    #: The first of those reasons; empty for none.
    refusal: str
    #: Seconds covered.
    seconds: float
    #: Part of what the nodes offer that was in use, by resource: over time and at most (0..1).
    used_mean: dict[str, float]
    used_peak: dict[str, float]
    #: Whether it was interrupted.
    partial: bool = False


class ReplayResult(msgspec.Struct, frozen=True):
    """One replay."""

    #: What became of it.
    outcomes: ReplayOutcomes
    #: Use and waiting over time.
    levels: list[OccupancySample]
    #: Seconds from arrival to bind by ``namespace/name``.
    waits: dict[str, float]


class Replay:
    """Runs one history, varied or as it was."""

    def __init__(
        self,
        history: ReplayHistory,
        drains: Sequence[NodeDrain],
        rules: SchedulingRules,
        settings: PlaneSettings,
    ) -> None:
        """Put the start into a store and build the plane over it.

        Args:
            history: as a variation has made it, or as it was.
            drains: nodes that are emptied as it runs.
            rules: who decides.
            settings: how.
        """
        self._history = history
        self._clock = ManualClock()
        self._store = MemoryStore(self._clock, Rng(settings.seed).child("replay"))
        self._agenda: list[tuple[float, int, _Action]] = []
        self._count = 0
        self._pods: dict[str, PodHistory] = {}
        self._coming: list[PodHistory] = []
        self._upcoming_count = 0
        self._started: dict[str, float] = {}
        self._granted: list[int] = []
        self._left_waiting: set[str] = set()
        self._evicted = 0
        self._refusals: list[str] = []
        self._drains = drains
        self._drained: set[str] = set()
        self._begin(history)
        names = settings.scheduler_names | history.scheduler_names
        settings = settings._replace(scheduler_names=names)
        queues = queues_of(history)
        self._plane: Plane = build_plane(rules, settings, queues, self._store, self._clock)
        self._plane.observers.append(self._observe)
        self._watch = self._store.watch(POD, self._store.version)
        self._occupancy = OccupancyMeter(self._plane.cluster)

    @property
    def profile(self) -> Profile:
        """The rules that decide."""
        return self._plane.config.profile

    def run(self, told: _Told = lambda _: None) -> ReplayResult:
        """Run to the recording's end; Ctrl-C ends it early with what is known."""
        partial, idle = False, 0
        try:
            while (time := self._next()) is not None and idle < PATIENCE:
                before = len(self._started)
                self._step(time)
                idle = 0 if self._agenda or len(self._started) > before else idle + 1
                told(time)
            self._clock.set(max(self._history.seconds, self._clock.monotonic()))
            self._look()  # nothing changes any more: as it is, it is until the end
        except KeyboardInterrupt:
            partial = True
        return self._result(partial)

    # ------------------------------------------------------------ the agenda

    def _begin(self, history: ReplayHistory) -> None:
        """What was there, and what is to come."""
        self._create((each.kind, each.body) for each in history.objects)
        there: list[tuple[Kind, dict[str, Any]]] = []
        for pod in history.pods:
            self._pods[_key(pod)] = pod
            if pod.came == 0 and pod.bound == 0:
                there.append((POD, _on_node(pod)))
                self._at(pod.left, partial(self._leave, pod))
            elif pod.came == 0:
                there.append((POD, pod.body))
                self._delete_pending(pod)
            else:
                self._upcoming_count += 1
                self._at(pod.came, partial(self._come, pod))
                self._delete_pending(pod)
        self._create(there)
        for change in history.changes:
            self._at(change.time_s, partial(self._apply, change))
        for drain in self._drains:
            self._at(drain.at, partial(self._drain, drain))

    def _come(self, pod: PodHistory) -> None:
        self._upcoming_count -= 1
        self._coming.append(pod)

    def _delete_pending(self, pod: PodHistory) -> None:
        """A pod that was deleted without ever having had a node."""
        if pod.bound == inf and pod.left < inf:
            self._at(pod.left, partial(self._give_up, pod))

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
        self._create((POD, _on_node(pod) if pod.fixed else pod.body) for pod in self._coming)
        for pod in self._coming:
            if pod.fixed:
                self._at(pod.left, partial(self._leave, pod))
        self._coming.clear()
        while self._plane.pump.poll(time, POLLED):
            pass
        self._plane.run_until_idle()
        self._note_starts(time)
        self._recreate_victims()
        self._look()

    def _look(self) -> None:
        """Note how it stands; pods that are still to come wait for nothing."""
        self._occupancy.look(self._clock.monotonic(), len(self._pods) - self._upcoming_count)

    # ------------------------------------------------------------ what happens

    def _drain(self, drain: NodeDrain) -> None:
        """Cordon nodes and send their pods away, those of DaemonSets excepted."""
        for record in self._store.list(NODE).records:
            body = msgspec.json.decode(record.body)
            if drain.touches(body):
                self._drained.add(record.name)
                self._put_node(record.name, body)
        leaving = [
            Deletion(record.namespace, record.name)
            for record in self._store.list(POD).records
            if record.node in self._drained and not _is_daemon(record.body)
        ]
        if leaving:
            self._check(self._store.delete(POD, leaving))

    def _put_node(self, name: str, body: dict[str, Any]) -> None:
        """Change a node; one that is drained stays cordoned."""
        if name in self._drained:
            body = {**body, "spec": {**(body.get("spec") or {}), "unschedulable": True}}
        self._check(self._store.update(NODE, [Update("", name, msgspec.json.encode(body))]))

    def _apply(self, change: RecordedChange) -> None:
        """A change of anything but a pod."""
        found = self._store.get(change.kind, change.namespace, change.name)
        if change.type is ChangeType.DELETED:
            self._check(self._store.delete(change.kind, [Deletion(change.namespace, change.name)]))
        elif found is None:
            self._create([(change.kind, change.body)])
        else:
            self._replace(change)
            self._write_status(change, msgspec.json.decode(found.body).get("status") or {})

    def _replace(self, change: RecordedChange) -> None:
        """All of an object but its status."""
        if change.kind is NODE:
            self._put_node(change.name, change.body)
        else:
            body = msgspec.json.encode(change.body)
            update = Update(change.namespace, change.name, body)
            self._check(self._store.update(change.kind, [update]))

    def _write_status(self, change: RecordedChange, before: Mapping[str, Any]) -> None:
        """The status of an object as recorded, unless the replayed scheduler computes it."""
        now = change.body.get("status") or {}
        if not entry_of(change.kind).status_computed and now != before:
            patch = {"status": _towards(before, now)}
            self._check(
                self._store.patch_status(change.kind, [Patch(change.namespace, change.name, patch)])
            )

    def _leave(self, pod: PodHistory) -> None:
        """A pod has run its time."""
        if self._pods.pop(_key(pod), None) is not None:
            self._check(self._store.delete(POD, [Deletion(pod.namespace, pod.name)]))

    def _give_up(self, pod: PodHistory) -> None:
        """A pod that never had a node leaves at the second at which it left."""
        if _key(pod) in self._pods and _key(pod) not in self._started:
            self._left_waiting.add(_key(pod))
            self._leave(pod)

    def _observe(self, step: Step) -> None:
        for verdict in step.verdicts:
            self._granted.extend(verdict.granted.tolist())

    def _note_starts(self, time: float) -> None:
        """What is bound runs from now on."""
        pods = self._plane.cluster.pods
        rows, self._granted = self._granted, []
        for row in rows:
            pod = self._pods.get(pods.key(row))
            if pod is None:
                continue
            if pods.state[row] != PodState.BOUND:
                self._granted.append(row)  # its victims are leaving; looked at again
                continue
            self._started.setdefault(_key(pod), time)
            self._at(time + pod.run_time, partial(self._leave, pod))

    def _recreate_victims(self) -> None:
        """Pods that had to go for others come again, as their controllers would see to."""
        again: list[PodHistory] = []
        for event in self._watch.poll(1 << 30):
            key = f"{event.record.namespace}/{event.record.name}"
            if event.type is EventType.DELETED and key in self._pods:
                again.append(self._pods[key])
        self._evicted += len(again)
        self._create((POD, pod.body) for pod in again)

    # ------------------------------------------------------------ writing

    def _create(self, objects: Iterable[tuple[Kind, dict[str, Any]]]) -> None:
        by_kind: dict[Kind, list[bytes]] = {}
        for kind, body in objects:
            by_kind.setdefault(kind, []).append(msgspec.json.encode(body))
        for kind, bodies in by_kind.items():
            for low in range(0, len(bodies), AT_ONCE):
                self._check(self._store.create(kind, bodies[low : low + AT_ONCE]))

    def _check(self, replies: Replies) -> None:
        self._refusals.extend(
            reply.message or reply.code.value
            for reply in replies
            if reply.outcome is not WriteOutcome.OK
        )

    # ------------------------------------------------------------ at the end

    def _result(self, partial: bool) -> ReplayResult:
        asked = arrived_pods(self._history)
        waits = {
            _key(pod): self._started[_key(pod)] - pod.came
            for pod in asked
            if _key(pod) in self._started
        }
        ordered = sorted(waits.values())
        seconds = self._clock.monotonic()
        outcomes = ReplayOutcomes(
            pods=len(asked),
            placed=len(waits),
            left_waiting=len(self._left_waiting),
            pending=len(asked) - len(waits) - len(self._left_waiting),
            mean_wait_s=round(sum(ordered) / len(ordered), 3) if ordered else 0.0,
            p95_wait_s=round(ordered[int(0.95 * (len(ordered) - 1))], 3) if ordered else 0.0,
            max_wait_s=round(ordered[-1], 3) if ordered else 0.0,
            evicted=self._evicted,
            refused=len(self._refusals),
            refusal=self._refusals[0] if self._refusals else "",
            seconds=round(seconds, 3),
            used_mean=self._occupancy.mean(),
            used_peak=self._occupancy.peak(),
            partial=partial,
        )
        return ReplayResult(outcomes, self._occupancy.levels, waits)


def arrived_pods(history: ReplayHistory) -> list[PodHistory]:
    """Pods that came while it ran, or waited at its start, and for whom somebody decides."""
    return [pod for pod in history.pods if not pod.fixed and not _was_running(pod)]


def recorded_waits(history: ReplayHistory) -> list[float]:
    """Seconds from arrival to bind as they were recorded, of pods that came while it ran."""
    return sorted(pod.bound - pod.came for pod in arrived_pods(history) if pod.bound < inf)


def _was_running(pod: PodHistory) -> bool:
    return pod.came == 0 and pod.bound == 0


def _towards(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) that makes one object of the other."""
    patch: dict[str, Any] = {key: None for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        patch[key] = _towards(old or {}, value) if both else value
    return patch


def _is_daemon(body: bytes) -> bool:
    """Whether a DaemonSet wants the pod exactly there."""
    owners = msgspec.json.decode(body).get("metadata", {}).get("ownerReferences") or ()
    return any(owner.get("kind") == "DaemonSet" for owner in owners)


def _key(pod: PodHistory) -> str:
    return f"{pod.namespace}/{pod.name}"


def _on_node(pod: PodHistory) -> dict[str, Any]:
    """A pod that is on its node from the first."""
    return {**pod.body, "spec": {**pod.body.get("spec", {}), "nodeName": pod.node}}
