"""One pool over a day: services with a tide, gangs and batch below them, in virtual time.

The plane is the product's: queues in a tree, preemption, reclaim, shards, binder, store. Around it
stand the controllers that a cluster has, as clients of the store: services keep as many replicas as
their tide wants, jobs are made again when some of their pods were evicted, and node agents let
evicted pods stop for a grace time before their room is free. Time is in ticks of half a minute. At
one tick what has stopped or ended leaves first, then comes what arrives, then services follow their
tide; then the plane runs until nothing moves, and controllers answer to what it has done.

A job that loses a pod loses the work of all of them: it runs its whole time again once it is whole.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf
from typing import Final

import msgspec

from stretto.api.wire.kinds import NODE, POD, POD_GROUP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.objects.objects import (
    DURATION,
    NAMESPACE,
    node_body,
    pod_group_body,
    pod_object,
)
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.world import AT_ONCE, POLLED
from stretto.sim.writes import require_accepted
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, EventType, Patch, WatchEvent
from stretto_lab.studies.one_pool.ledger import (
    TICK_S,
    DiurnalService,
    OnePoolDayResult,
    OnePoolJob,
    QueueLedger,
)

SAMPLE: Final = 10
"""Ticks between two looks at how full the pool is: five minutes."""
ROUNDS: Final = 16
"""Times that controllers may answer within a tick before time goes on."""
FINALIZER: Final = "stretto.dev/stopping"
"""Keeps a pod of a job until its node's agent says that it has stopped."""
QUEUE_NOTE: Final = "stretto.dev/queue"
_LET_GO: Final = {"metadata": {"finalizers": None}}
_NAME: Final = "@name@"


class _JobUnit(msgspec.Struct, eq=False):
    """A job on its way."""

    job: OnePoolJob
    name: str
    #: Pods that exist, by name: the tick at which each started, or -1.
    pods: dict[str, int] = msgspec.field(default_factory=dict)
    #: Rises when work is lost: an end that was planned before is void.
    version: int = 0
    #: Tick at which all of it ran; -1 while it does not.
    whole: int = -1
    #: Pods made so far, replacements included.
    made: int = 0


class _ReplicaPod(msgspec.Struct, eq=False, gc=False):
    """A pod as its controller knows it."""

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
        until: tick at which it ends.
        counted_from: tick from which waits, evictions and work count; before it the pool fills.
    """
    return _OnePoolDay(nodes, work, config, counted_from).run(until)


class _OnePoolDay:
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
        for low in range(0, len(nodes), AT_ONCE):
            bodies = [node_body(node) for node in nodes[low : low + AT_ONCE]]
            require_accepted(self._store.create(NODE, bodies))
        self._plane = Plane(config, self._store, self._clock)
        self._watch = self._store.watch(POD, self._store.list(POD).version)
        self._tick = 0
        self._pods: dict[str, _ReplicaPod] = {}
        self._arrivals = deque(sorted(self._jobs, key=lambda job: job.arrival))
        self._replica_changes = [deque(service.tide) for service in self._services]
        #: Replicas of each service, the newest last.
        self._replicas: list[dict[str, None]] = [{} for _ in self._services]
        self._made = 0
        #: (tick, order, unit, version) at which jobs end.
        self._ends: list[tuple[int, int, _JobUnit, int]] = []
        #: Pods that stop, by tick.
        self._stops: dict[int, list[str]] = defaultdict(list)
        self._bodies: dict[tuple[object, ...], tuple[bytes, bytes]] = {}
        self._new: list[bytes] = []
        self._groups: list[bytes] = []
        self._cores: Counter[str] = Counter()
        self._gpus: Counter[str] = Counter()
        queues = [*(s.queue for s in self._services), *(job.queue for job in self._jobs)]
        self._books = {queue: QueueLedger() for queue in queues}
        self._samples: list[tuple[int, Counter[str], Counter[str]]] = []

    def run(self, until: int) -> OnePoolDayResult:
        """Tick by tick where something happens."""
        while self._tick < until:
            self._clock.set(max(float(self._tick * TICK_S), self._clock.monotonic()))
            self._leave()
            self._come()
            self._follow()
            self._settle()
            if self._tick % SAMPLE == 0:
                look = (self._tick, self._cores.copy(), self._gpus.copy())
                self._samples.append(look)
            self._tick = self._next(until)
        return self._report()

    def _next(self, until: int) -> int:
        """The next tick at which something happens."""
        due = [until, (self._tick // SAMPLE + 1) * SAMPLE]
        plane = self._plane.next_due()
        if plane < inf:
            due.append(ceil(max(0.0, plane) / TICK_S))  # the past means now
        if self._arrivals:
            due.append(self._arrivals[0].arrival)
        if self._ends:
            due.append(self._ends[0][0])
        due += [tide[0][0] for tide in self._replica_changes if tide]
        due += self._stops
        return max(self._tick + 1, min(due))

    # ------------------------------------------------------------ what happens

    def _leave(self) -> None:
        """What has stopped is let go; what has run its time leaves."""
        stopped = self._stops.pop(self._tick, [])
        self._release([name for name in stopped if name in self._pods])
        gone: list[str] = []
        while self._ends and self._ends[0][0] <= self._tick:
            _, _, unit, version = heapq.heappop(self._ends)
            if unit.version == version:
                self._done(unit)
                gone.extend(unit.pods)
        if not gone:
            return
        self._store.delete(POD, [Deletion(NAMESPACE, name) for name in gone])
        for name in gone:
            self._forget(name)
        self._release(gone)

    def _release(self, names: Sequence[str]) -> None:
        """Node agents let go of pods that have stopped."""
        patches = [Patch(NAMESPACE, name, _LET_GO) for name in names]
        for low in range(0, len(patches), AT_ONCE):
            self._store.patch(POD, patches[low : low + AT_ONCE])

    def _done(self, unit: _JobUnit) -> None:
        """A job has run its time."""
        if self._tick < self._counted_from:
            return
        book, job = self._books[unit.job.queue], unit.job
        hours = job.pods * job.lasts * TICK_S / 3600
        book.done_core_h += hours * job.shape.cpu_milli / 1000
        book.done_gpu_h += hours * job.shape.gpus

    def _come(self) -> None:
        """Jobs arrive."""
        while self._arrivals and self._arrivals[0].arrival <= self._tick:
            job = self._arrivals.popleft()
            self._made += 1
            unit = _JobUnit(job, f"{job.queue}-{self._made}")
            if job.pods > 1:
                more = {"scheduleTimeoutSeconds": 1_000_000}
                self._groups.append(pod_group_body(unit.name, job.pods, more=more))
            self._fill(unit)

    def _fill(self, unit: _JobUnit) -> None:
        """The job's controller makes the pods that it lacks."""
        job = unit.job
        for _ in range(job.pods - len(unit.pods)):
            unit.made += 1
            name = f"{unit.name}-{unit.made}"
            unit.pods[name] = -1
            self._make(name, _ReplicaPod(job.queue, job.shape, self._tick, unit))

    def _follow(self) -> None:
        """Services take as many replicas as their tide wants."""
        for number, (service, tide) in enumerate(
            zip(self._services, self._replica_changes, strict=True)
        ):
            wanted = -1
            while tide and tide[0][0] <= self._tick:
                wanted = tide.popleft()[1]
            if wanted < 0:
                continue
            replicas = self._replicas[number]
            while len(replicas) < wanted:
                self._replica(number, service)
            gone = [replicas.popitem()[0] for _ in range(len(replicas) - wanted)]
            for name in gone:
                self._forget(name)
            self._store.delete(POD, [Deletion(NAMESPACE, name) for name in gone])

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
            self._books[pod.queue].came += 1

    def _cut(self, pod: _ReplicaPod, group: str) -> tuple[bytes, bytes]:
        """A pod's JSON before and behind its name; kept for pods that are in no gang.

        Training says how long it runs, as such jobs can; batch does not.
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
            if pod.unit is not None:
                made["metadata"]["finalizers"] = [FINALIZER]
            head, _, tail = msgspec.json.encode(made).partition(_NAME.encode())
            found = head, tail
            if not group:
                self._bodies[key] = found
        return found

    # ------------------------------------------------------------ the plane and its answers

    def _settle(self) -> None:
        """The plane runs until nothing moves; controllers answer, and it runs again."""
        for _ in range(ROUNDS):
            self._write()
            self._plane.run_until_idle()
            if not self._answer():
                return

    def _write(self) -> None:
        for kind, bodies in ((POD_GROUP, self._groups), (POD, self._new)):
            for low in range(0, len(bodies), AT_ONCE):
                require_accepted(self._store.create(kind, bodies[low : low + AT_ONCE]))
            bodies.clear()
        while self._plane.pump.poll(self._clock.monotonic(), POLLED):
            pass

    def _answer(self) -> bool:
        """Look at what has happened to pods; True where something was written."""
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
                self._started(record.name, pod)
        return bool(self._new)

    def _events(self) -> Iterator[WatchEvent]:
        while batch := self._watch.poll():
            yield from batch

    def _started(self, name: str, pod: _ReplicaPod) -> None:
        pod.started = self._tick
        self._use(pod, 1)
        if self._tick >= self._counted_from:
            book = self._books[pod.queue]
            book.started += 1
            book.waits[self._tick - pod.came] += 1
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
        """A pod was told to go: the work of its job since it was whole is lost."""
        counted = self._tick >= self._counted_from
        book, unit = self._books[pod.queue], pod.unit
        book.evicted += counted
        if unit is None or unit.whole < 0:
            return
        hours = unit.job.pods * (self._tick - unit.whole) * TICK_S / 3600
        if counted:
            book.lost_core_h += hours * unit.job.shape.cpu_milli / 1000
            book.lost_gpu_h += hours * unit.job.shape.gpus
        unit.version += 1
        unit.whole = -1

    def _evicted(self, name: str, pod: _ReplicaPod) -> None:
        """A pod has gone against its controller's will: another takes its place."""
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
            self._use(pod, -1)

    def _use(self, pod: _ReplicaPod, sign: int) -> None:
        self._cores[pod.queue] += sign * pod.shape.cpu_milli
        self._gpus[pod.queue] += sign * pod.shape.gpus

    def _report(self) -> OnePoolDayResult:
        for pod in self._pods.values():
            if pod.started < 0:
                book = self._books[pod.queue]
                book.waiting += 1
                book.waiting_most = max(book.waiting_most, self._tick - pod.came)
        queues: Mapping[str, QueueLedger] = self._books
        return OnePoolDayResult(
            books=self._books,
            ticks=tuple(tick for tick, _, _ in self._samples),
            cores={q: tuple(cores[q] / 1000 for _, cores, _ in self._samples) for q in queues},
            gpus={q: tuple(gpus[q] for _, _, gpus in self._samples) for q in queues},
            capacity=self._capacity,
        )
