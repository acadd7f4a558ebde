"""A one-pool day in virtual time: services with a load curve, gangs and batch.

The plane is the real one: queue tree, preemption, reclaim, shards, binder and store. The
controllers of a cluster are simulated as clients of the store: services scale their replicas along
the load curve, jobs recreate evicted pods, and node agents stop evicted pods after a grace period,
which frees their capacity. Time is in ticks of half a minute. In each tick, stopped and finished
pods are deleted, then jobs arrive, then services scale. Then the plane runs until it is idle, and
the controllers react.

A job that loses a pod loses the work of all its pods. It starts its run time again when all its
pods run.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf
from typing import Final

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, NODE, POD, POD_GROUP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.objects.objects import DURATION, node_body, pod_group_body, pod_object
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.world import POLLED
from stretto.sim.writes import AT_ONCE, create_all
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, EventType, Patch, WatchEvent
from stretto_lab.studies.one_pool.ledger import (
    FROM_POOL,
    TICK_S,
    DiurnalService,
    OnePoolDayResult,
    OnePoolJob,
    PodFollower,
    QueueLedger,
)

SAMPLE: Final = 10
"""Ticks between samples of utilisation: five minutes."""
ROUNDS: Final = 16
"""Maximum number of controller reactions within a tick."""
FINALIZER: Final = "stretto.dev/stopping"
"""Finalizer of job pods, which the node agent removes when the pod has stopped."""
QUEUE_NOTE: Final = "stretto.dev/queue"
_RELEASE: Final = {"metadata": {"finalizers": None}}
_NAME: Final = "@name@"


class _JobUnit(msgspec.Struct, eq=False):
    """A job that is not done."""

    job: OnePoolJob
    name: str
    #: Existing pods by name: the tick at which each pod started, or -1.
    pods: dict[str, int] = msgspec.field(default_factory=dict)
    #: Incremented when work is lost, which cancels a planned end.
    version: int = 0
    #: Tick since which all pods run; -1 if not all pods run.
    whole: int = -1
    #: Pods created so far, including replacements.
    made: int = 0


class _ReplicaPod(msgspec.Struct, eq=False, gc=False):
    """A pod in the records of its controller."""

    queue: str
    shape: FleetPod
    came: int
    unit: _JobUnit | None
    service: int = -1
    started: int = -1
    stopping: bool = False


def run_one_pool_day(
    nodes: Sequence[FleetNode],
    work: tuple[Sequence[DiurnalService], Sequence[OnePoolJob]],
    config: PlaneConfig,
    until: int,
    counted_from: int = 0,
) -> OnePoolDayResult:
    """Run services and jobs through a pool.

    Args:
        nodes: the machines.
        work: services and jobs.
        config: the plane, with its queues.
        until: tick at which the run ends.
        counted_from: tick from which waits, evictions and work count; the warm-up precedes it.
    """
    return OnePoolDay(nodes, work, config, counted_from).run(until)


class OnePoolDay:
    """One run."""

    def __init__(
        self,
        nodes: Sequence[FleetNode],
        work: tuple[Sequence[DiurnalService], Sequence[OnePoolJob]],
        config: PlaneConfig,
        counted_from: int,
    ) -> None:
        self._services, self._jobs = work
        self._counted_from = counted_from
        self._capacity = (sum(n.cpu_milli for n in nodes) / 1000, sum(n.gpus for n in nodes))
        self._clock = ManualClock()
        self._store = MemoryStore(self._clock, Rng(config.seed).child("store"))
        create_all(self._store, NODE, [node_body(node) for node in nodes])
        self._plane = Plane(config, self._store, self._clock)
        self._watch = self._store.watch(POD, self._store.list(POD).version)
        self._tick = 0
        self._pods: dict[str, _ReplicaPod] = {}
        self._arrivals = deque(sorted(self._jobs, key=lambda job: job.arrival))
        self._replica_changes = [deque(service.load_curve) for service in self._services]
        #: Replicas by service, newest last.
        self._replicas: list[dict[str, None]] = [{} for _ in self._services]
        self._made = 0
        #: (tick, order, unit, version) of job ends.
        self._ends: list[tuple[int, int, _JobUnit, int]] = []
        #: Stopping pods by tick.
        self._stops: dict[int, list[str]] = defaultdict(list)
        self._bodies: dict[tuple[object, ...], tuple[bytes, bytes]] = {}
        self._new: list[bytes] = []
        self._groups: list[bytes] = []
        self._cores: Counter[str] = Counter()
        self._gpus: Counter[str] = Counter()
        queues = [*(s.queue for s in self._services), *(job.queue for job in self._jobs)]
        self._ledgers = {queue: QueueLedger() for queue in queues}
        self._samples: list[tuple[int, Counter[str], Counter[str]]] = []
        self._use: PodFollower | None = None
        self._reclaimed: frozenset[str] = frozenset()

    def follow(self, use: PodFollower, reclaimed: frozenset[str]) -> None:
        """Follow the use of pods; pods of ``reclaimed`` queues request pool resources."""
        self._use, self._reclaimed = use, reclaimed

    def run(self, until: int) -> OnePoolDayResult:
        """Run all ticks with events."""
        while self._tick < until:
            self._clock.set(max(float(self._tick * TICK_S), self._clock.monotonic()))
            self._delete_finished()
            self._admit_jobs()
            self._scale()
            self._settle()
            if self._tick % SAMPLE == 0:
                sample = (self._tick, self._cores.copy(), self._gpus.copy())
                self._samples.append(sample)
                if self._use is not None:
                    self._use.sample(self._tick, self._clock.now(), self._store)
            self._tick = self._next(until)
        return self._report()

    def _next(self, until: int) -> int:
        """Return the next tick with an event."""
        due = [until, (self._tick // SAMPLE + 1) * SAMPLE]
        plane = self._plane.next_due()
        if plane < inf:
            due.append(ceil(max(0.0, plane) / TICK_S))  # A deadline in the past is due now.
        if self._arrivals:
            due.append(self._arrivals[0].arrival)
        if self._ends:
            due.append(self._ends[0][0])
        due += [curve[0][0] for curve in self._replica_changes if curve]
        due += self._stops
        return max(self._tick + 1, min(due))

    # ------------------------------------------------------------ events

    def _delete_finished(self) -> None:
        """Release stopped pods and delete finished jobs."""
        stopped = self._stops.pop(self._tick, [])
        self._release([name for name in stopped if name in self._pods])
        finished: list[str] = []
        while self._ends and self._ends[0][0] <= self._tick:
            _, _, unit, version = heapq.heappop(self._ends)
            if unit.version == version:
                self._done(unit)
                finished.extend(unit.pods)
        if not finished:
            return
        self._store.delete(POD, [Deletion(DEFAULT_NAMESPACE, name) for name in finished])
        for name in finished:
            self._forget(name)
        self._release(finished)

    def _release(self, names: Sequence[str]) -> None:
        """Remove the finalizers of stopped pods."""
        patches = [Patch(DEFAULT_NAMESPACE, name, _RELEASE) for name in names]
        for low in range(0, len(patches), AT_ONCE):
            self._store.patch(POD, patches[low : low + AT_ONCE])

    def _done(self, unit: _JobUnit) -> None:
        """Count a finished job."""
        if self._tick < self._counted_from:
            return
        ledger, job = self._ledgers[unit.job.queue], unit.job
        hours = job.pods * job.lasts * TICK_S / 3600
        ledger.done_core_h += hours * job.shape.cpu_milli / 1000
        ledger.done_gpu_h += hours * job.shape.gpus

    def _admit_jobs(self) -> None:
        """Create the jobs that arrive."""
        while self._arrivals and self._arrivals[0].arrival <= self._tick:
            job = self._arrivals.popleft()
            self._made += 1
            unit = _JobUnit(job, f"{job.queue}-{self._made}")
            if job.pods > 1:
                more = {"scheduleTimeoutSeconds": 1_000_000}
                self._groups.append(pod_group_body(unit.name, job.pods, more=more))
            self._fill(unit)

    def _fill(self, unit: _JobUnit) -> None:
        """Create the missing pods of a job."""
        job = unit.job
        for _ in range(job.pods - len(unit.pods)):
            unit.made += 1
            name = f"{unit.name}-{unit.made}"
            unit.pods[name] = -1
            self._make(name, _ReplicaPod(job.queue, job.shape, self._tick, unit))

    def _scale(self) -> None:
        """Scale the services along their load curves."""
        for number, (service, curve) in enumerate(
            zip(self._services, self._replica_changes, strict=True)
        ):
            wanted = -1
            while curve and curve[0][0] <= self._tick:
                wanted = curve.popleft()[1]
            if wanted < 0:
                continue
            replicas = self._replicas[number]
            while len(replicas) < wanted:
                self._replica(number, service)
            removed = [replicas.popitem()[0] for _ in range(len(replicas) - wanted)]
            for name in removed:
                self._forget(name)
            self._store.delete(POD, [Deletion(DEFAULT_NAMESPACE, name) for name in removed])

    def _replica(self, number: int, service: DiurnalService) -> None:
        self._made += 1
        name = f"{service.name}-{self._made}"
        self._replicas[number][name] = None
        self._make(name, _ReplicaPod(service.queue, service.shape, self._tick, None, number))

    def _make(self, name: str, pod: _ReplicaPod) -> None:
        self._pods[name] = pod
        group = pod.unit.name if pod.unit is not None and pod.unit.job.pods > 1 else ""
        head, tail = self._cut(pod, group)
        self._new.append(head + name.encode() + tail)
        if self._tick >= self._counted_from:
            self._ledgers[pod.queue].came += 1

    def _cut(self, pod: _ReplicaPod, group: str) -> tuple[bytes, bytes]:
        """Return the JSON of a pod before and after its name; cached for pods without a gang.

        Training pods state their run time; batch pods do not.
        """
        shape = pod.shape
        lasts = pod.unit.job.lasts if pod.unit is not None and shape.gpus else 0
        key = (shape.cpu_milli, shape.memory_mib, shape.gpus, lasts, shape.priority, pod.queue)
        found = None if group else self._bodies.get(key)
        if found is None:
            made = pod_object(msgspec.structs.replace(shape, name=_NAME, group=group))
            made["metadata"]["name"] = _NAME
            notes = made["metadata"].setdefault("annotations", {})
            notes[QUEUE_NOTE] = pod.queue
            if lasts:
                notes[DURATION] = str(lasts * TICK_S)
            if pod.queue in self._reclaimed:
                notes.update(FROM_POOL)
            if pod.unit is not None:
                made["metadata"]["finalizers"] = [FINALIZER]
            head, _, tail = msgspec.json.encode(made).partition(_NAME.encode())
            found = head, tail
            if not group:
                self._bodies[key] = found
        return found

    # ------------------------------------------------------------ the plane and the controllers

    def _settle(self) -> None:
        """Run the plane until it is idle, let the controllers react, and repeat."""
        for _ in range(ROUNDS):
            self._write()
            self._plane.run_until_idle()
            if not self._react():
                return

    def _write(self) -> None:
        for kind, bodies in ((POD_GROUP, self._groups), (POD, self._new)):
            create_all(self._store, kind, bodies)
            bodies.clear()
        while self._plane.pump.poll(self._clock.monotonic(), POLLED):
            pass

    def _react(self) -> bool:
        """React to pod events; True if something was created."""
        for event in self._events():
            record = event.record
            pod = self._pods.get(record.name)
            if pod is None:
                continue
            if event.type is EventType.DELETED:
                self._evicted(record.name, pod)
            elif record.deleting and not pod.stopping:
                pod.stopping = True
                self._stops[self._tick + 1].append(record.name)
                self._lose(pod)
            elif record.node and pod.started < 0:
                self._started(record.name, pod, record.node)
        return bool(self._new)

    def _events(self) -> Iterator[WatchEvent]:
        while batch := self._watch.poll():
            yield from batch

    def _started(self, name: str, pod: _ReplicaPod, node: str) -> None:
        pod.started = self._tick
        if self._use is not None:
            self._use.started(name, (pod.queue, pod.shape, pod.service), node, self._tick)
        self._charge(pod, 1)
        if self._tick >= self._counted_from:
            ledger = self._ledgers[pod.queue]
            ledger.started += 1
            ledger.waits[self._tick - pod.came] += 1
        unit = pod.unit
        if unit is None:
            return
        unit.pods[name] = self._tick
        if len(unit.pods) == unit.job.pods and min(unit.pods.values()) >= 0:
            unit.whole = self._tick
            self._made += 1
            end = self._tick + max(1, unit.job.lasts)
            heapq.heappush(self._ends, (end, self._made, unit, unit.version))

    def _lose(self, pod: _ReplicaPod) -> None:
        """Count an eviction and the lost work of its job."""
        counted = self._tick >= self._counted_from
        ledger, unit = self._ledgers[pod.queue], pod.unit
        ledger.evicted += counted
        if unit is None or unit.whole < 0:
            return
        hours = unit.job.pods * (self._tick - unit.whole) * TICK_S / 3600
        if counted:
            ledger.lost_core_h += hours * unit.job.shape.cpu_milli / 1000
            ledger.lost_gpu_h += hours * unit.job.shape.gpus
        unit.version += 1
        unit.whole = -1

    def _evicted(self, name: str, pod: _ReplicaPod) -> None:
        """Replace an evicted pod."""
        if not pod.stopping:
            self._lose(pod)
        self._forget(name)
        if pod.unit is not None:
            del pod.unit.pods[name]
            self._fill(pod.unit)
        else:
            self._replicas[pod.service].pop(name, None)
            self._replica(pod.service, self._services[pod.service])

    def _forget(self, name: str) -> None:
        pod = self._pods.pop(name)
        if pod.started >= 0:
            self._charge(pod, -1)
            if self._use is not None:
                self._use.ended(name)

    def _charge(self, pod: _ReplicaPod, sign: int) -> None:
        self._cores[pod.queue] += sign * pod.shape.cpu_milli
        self._gpus[pod.queue] += sign * pod.shape.gpus

    def _report(self) -> OnePoolDayResult:
        for pod in self._pods.values():
            if pod.started < 0:
                ledger = self._ledgers[pod.queue]
                ledger.waiting += 1
                ledger.waiting_most = max(ledger.waiting_most, self._tick - pod.came)
        queues: Mapping[str, QueueLedger] = self._ledgers
        return OnePoolDayResult(
            ledgers=self._ledgers,
            ticks=tuple(tick for tick, _, _ in self._samples),
            cores={q: tuple(cores[q] / 1000 for _, cores, _ in self._samples) for q in queues},
            gpus={q: tuple(gpus[q] for _, _, gpus in self._samples) for q in queues},
            capacity=self._capacity,
        )
