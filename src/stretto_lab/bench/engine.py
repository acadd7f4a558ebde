"""The engine bench: what one process can do on this machine, from JSON in hand to bound.

A cluster of many nodes and running pods is set up as rows, then pending pods arrive as JSON and go
the whole way through a real plane and store. Three passes: all at once (throughput), at a steady
rate (latency from submit to bound), and the decoder alone (the floor). At the end the cached rows
are compared with the rules' own reference on a sample of classes: a fast wrong answer is no answer.
"""

import resource
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import NODE, POD, POD_GROUP
from stretto.base import collector
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.inputs.objects.objects import node_body
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec
from stretto.inputs.scenario.workloads import poisson_times, synthetic_nodes
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import Plane
from stretto.sim.options import MEMORY, open_store
from stretto.state.classes.table import PodClasses
from stretto.state.rows.resources import ResourceColumns
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.embedded.templates import TemplateCache
from stretto.stores.store import Deletion, Record, WriteOutcome
from stretto_lab.bench.options import EngineBenchOptions
from stretto_lab.bench.python_rules import profile_with_rule
from stretto_lab.bench.stopwatch import Stopwatches

SUBMIT: Final = 1024
"""Pods created in one call: a client that batches."""
HISTORY: Final = 8192
"""Events the store keeps for watches; each keeps a body of 2.8 kB alive."""
HOPELESS: Final = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"waits-%07d","namespace":"default"},'
    b'"spec":{"schedulerName":"stretto","containers":[{"name":"main","image":"main",'
    b'"resources":{"requests":{"cpu":"1000000"}}}]}}'
)
"""A pod that fits nowhere, by its number."""
SAMPLE: Final = 64
"""Classes whose rows are compared with the reference."""


class EngineResult(msgspec.Struct, frozen=True):
    """What was measured."""

    #: What was asked.
    asked: EngineBenchOptions
    #: Pods a second from JSON in hand to bound in the store: the median of the rounds.
    end_to_end_per_s: float
    #: The same of each round.
    rounds_per_s: list[float]
    #: Microseconds of this process's CPU time a pod in the median round.
    cpu_us_per_pod: float
    #: Pods a second through the same decoder to interned heads, nothing else.
    decode_only_per_s: float
    #: Microseconds of kernel a pod in the throughput pass.
    kernel_us_per_pod: float
    #: Median milliseconds from submit to bound at the steady rate.
    p50_ms: float | None
    #: 99th percentile of the same.
    p99_ms: float | None
    #: Pods a second really submitted in the latency pass.
    rate_reached_per_s: float | None
    #: Peak resident memory in MB.
    rss_mb: float
    #: Part of the throughput pass's time by stage.
    stages: dict[str, float]
    #: Pods bound in the throughput pass.
    bound: int
    #: Pods that found no place.
    unplaced: int
    #: Share of claims that the binder refused.
    conflicts: float
    #: Whether fast results equalled the reference on a sample.
    equal_to_reference: bool
    #: Seconds of setting up.
    setup_s: float


class ThroughputPass(NamedTuple):
    """One throughput pass."""

    #: Wall seconds.
    seconds: float
    #: CPU seconds of this process.
    cpu_seconds: float
    #: Part of the wall seconds by stage.
    stages: dict[str, float]
    #: Seconds in the kernel.
    kernel_s: float
    #: Pods bound.
    bound: int
    #: Share of claims that the binder refused.
    conflicts: float


class _Bench:
    """One run."""

    def __init__(self, asked: EngineBenchOptions, seed: int) -> None:
        self.asked = asked
        self.clock = WallClock()
        self.rng = Rng(seed)
        started = self.clock.monotonic()
        profile = profile_with_rule(load_profile(asked.profile), asked.python_rule)
        spec = TemplateSpec(
            classes=asked.classes,
            constrained=asked.constrained,
            units=asked.units,
            gangs=asked.units > 1,
            zones=asked.zones,
        )
        self.templates = PodTemplates(spec, self.rng.child("pods"))
        self._submitted = 0
        self.store = self._store()
        self._load()
        config = PlaneConfig(
            profile=profile,
            shards=asked.shards,
            seed=seed,
            tier=asked.tier,
        )
        self.plane = Plane(config, self.store, self.clock)
        self.plane.run_until_idle()
        self._warm_up()
        self._let_wait()
        collector.settle()
        self.setup_s = self.clock.monotonic() - started

    def _store(self) -> MemoryStore | SqliteStore:
        rng = self.rng.child("store")
        if self.asked.store == MEMORY:
            return MemoryStore(self.clock, rng, HISTORY)
        return open_store(self.asked.store, self.clock, rng)

    def _load(self) -> None:
        """Nodes, and running pods as records that share their class's body."""
        asked = self.asked
        nodes = synthetic_nodes(asked.nodes, self.rng.child("fleet"), zones=asked.zones)
        names = [node.name for node in nodes]
        self.store.create(NODE, [node_body(node) for node in nodes])
        if not asked.running:
            return
        bodies = self.templates.class_bodies
        chosen = self.templates.running_classes(asked.running).tolist()
        count = len(names)
        self.store.seed(
            Record(POD, "default", f"run-{i:07d}", f"u-{i:07d}", 1, bodies[c], names[i % count])
            for i, c in enumerate(chosen)
        )

    def _warm_up(self) -> None:
        """Compile the kernels and see each class once, as a server that has been up for a while."""
        self._submit(self.templates.bodies(max(2 * self.asked.classes, 512)))
        self.plane.run_until_idle()

    def _let_wait(self) -> None:
        """Pods that ask for more than any node has."""
        for first in range(0, self.asked.pending, SUBMIT):
            last = min(first + SUBMIT, self.asked.pending)
            self.store.create(POD, [HOPELESS % number for number in range(first, last)])
            self.plane.run_until_idle()

    def _submit(self, bodies: Sequence[bytes]) -> None:
        groups = self._groups_of(len(bodies))
        if groups:
            self.store.create(POD_GROUP, groups)
        replies = self.store.create(POD, bodies)
        wrong = next((r for r in replies if r.outcome is not WriteOutcome.OK), None)
        if wrong is not None:
            raise RuntimeError(f"the store refused a bench pod: {wrong.message}")

    def _groups_of(self, pods: int) -> list[bytes]:
        """The PodGroups whose first pod is among the next so many: each comes with its pods."""
        first, self._submitted = self._submitted, self._submitted + pods
        units, bodies = self.asked.units, self.templates.group_bodies
        return bodies[-(-first // units) : -(-self._submitted // units)]

    def throughput(self, watches: Stopwatches) -> ThroughputPass:
        """Everything at once."""
        bodies = self.templates.bodies(self.asked.pods)
        before = self.plane.binder.counts.copy()
        watches.clear()
        start, cpu = self.clock.monotonic(), _cpu_seconds()
        for first in range(0, len(bodies), SUBMIT):
            self._submit(bodies[first : first + SUBMIT])
            self.plane.step()
        self.plane.run_until_idle()
        took, cpu = self.clock.monotonic() - start, _cpu_seconds() - cpu
        counts = self.plane.binder.counts - before
        refused = sum(n for cause, n in counts.items() if cause not in ("granted", "bound"))
        result = ThroughputPass(
            seconds=took,
            cpu_seconds=cpu,
            stages=watches.shares(took),
            kernel_s=watches.seconds["kernel"],
            bound=counts["bound"],
            conflicts=refused / max(1, refused + counts["granted"]),
        )
        first = _number(bodies[0])
        del bodies
        self._remove_pods(range(first, first + self.asked.pods))
        return result

    def _remove_pods(self, numbers: range) -> None:
        """Remove the pods of a pass, so that the next finds the cluster as it was."""
        for start in range(0, len(numbers), SUBMIT):
            part = numbers[start : start + SUBMIT]
            self.store.delete(POD, [Deletion("default", f"pod-{i:07d}") for i in part])
            self.plane.step()
        if self.asked.units > 1:
            units = range(*(-(-number // self.asked.units) for number in (numbers[0], numbers[-1])))
            self.store.delete(POD_GROUP, [Deletion("default", f"pod-unit-{i:06d}") for i in units])
        self.plane.run_until_idle()

    def stopwatches(self) -> Stopwatches:
        """Stopwatches around every part of the plane."""
        watches = Stopwatches(self.clock)
        plane = self.plane
        watches.wrap(self.store, "create", "store.create")
        watches.wrap(self.store, "bind", "store.bind")
        watches.wrap(plane.pump, "poll", "pump")
        for method in ("absorb", "wake", "due", "dispatch", "placed_rows", "set_back"):
            watches.wrap(plane.dispatcher, method, "dispatcher")
        watches.wrap(plane.binder, "commit", "binder")
        for shard in plane.shards:
            watches.wrap(shard, "cycle", "shard")
            watches.wrap(shard.default.runtime, "sync", "snapshot")
            runtime = shard.default.runtime
            assert isinstance(runtime, Runtime)
            watches.wrap(runtime.scores, "place", "kernel")
        return watches

    def latency(self, pace: collector.Pace) -> tuple[float, float, float]:
        """Open loop at a steady rate: p50 and p99 in ms, and the rate reached."""
        count = int(self.asked.rate * self.asked.seconds)
        due = poisson_times(count, self.asked.rate, self.rng.child("latency"))
        bodies = self.templates.bodies(count)
        first = _number(bodies[0])
        bound = np.full(count, np.nan)
        pace.catch_up()  # as a server does that had nothing to do a moment ago
        self.plane.observers.append(lambda step: self._note(step, first, bound))
        sent, start = 0, self.clock.monotonic()
        self._origin = start
        while sent < count:
            now = self.clock.monotonic() - start
            ready = int(np.searchsorted(due, now, "right"))
            if ready > sent:
                self._submit(bodies[sent:ready])
                sent = ready
            pace.spare(idle=not self.plane.step())
        self.plane.run_until_idle()
        took = self.clock.monotonic() - start
        self.plane.observers.pop()
        waits = (bound - due)[~np.isnan(bound)] * 1000
        if not len(waits):
            return float("nan"), float("nan"), 0.0
        return float(np.percentile(waits, 50)), float(np.percentile(waits, 99)), count / took

    def _note(self, step: Step, first: int, bound: npt.NDArray[np.float64]) -> None:
        now = self.clock.monotonic() - self._origin
        names = self.plane.cluster.pods.name
        for verdict in step.verdicts:
            index = [int(names[row][4:]) - first for row in verdict.granted.tolist()]
            bound[[i for i in index if 0 <= i < len(bound)]] = now

    def decode_only(self) -> float:
        """Pods a second through the decoder and the interning table, best of three."""
        bodies = self.templates.bodies(min(self.asked.pods, 50_000))
        classes = PodClasses(ResourceColumns())
        rates = []
        for _ in range(3):
            start = self.clock.monotonic()
            intern, patterns = classes.intern, TemplateCache()
            for first in range(0, len(bodies), SUBMIT):
                part = bodies[first : first + SUBMIT]
                for body, head in zip(part, patterns.read(part)[1], strict=True):
                    intern(head, body)
            rates.append(len(bodies) / (self.clock.monotonic() - start))
        return max(rates)

    def equals_reference(self) -> bool:
        """Whether cached rows equal what the rules themselves say, on a sample of classes."""
        runtime = self.plane.shards[0].default.runtime
        assert isinstance(runtime, Runtime)
        runtime.sync()
        live = [c for c, users in enumerate(self.plane.cluster.classes.users) if users]
        step = max(1, len(live) // SAMPLE)
        return all(_same_row(runtime, class_id) for class_id in live[::step])


def run_engine_bench(asked: EngineBenchOptions, seed: int = 0) -> EngineResult:
    """Measure; peak memory is the process's own, so run it in a fresh one."""
    bench = _Bench(asked, seed)
    watches = bench.stopwatches()
    with collector.Pace() as pace:
        rounds = [bench.throughput(watches) for _ in range(asked.rounds)]
        middle = sorted(rounds, key=lambda each: each.seconds)[len(rounds) // 2]
        latency = bench.latency(pace) if asked.rate > 0 else (None, None, None)
    equal = bench.equals_reference()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bench.store.close()
    bound = max(1, middle.bound)
    return EngineResult(
        asked=asked,
        end_to_end_per_s=round(middle.bound / middle.seconds, 1),
        rounds_per_s=[round(each.bound / each.seconds, 1) for each in rounds],
        cpu_us_per_pod=round(1e6 * middle.cpu_seconds / bound, 2),
        decode_only_per_s=round(bench.decode_only(), 1),
        kernel_us_per_pod=round(1e6 * middle.kernel_s / bound, 3),
        p50_ms=_rounded(latency[0]),
        p99_ms=_rounded(latency[1]),
        rate_reached_per_s=_rounded(latency[2]),
        rss_mb=round(rss, 1),
        stages=middle.stages,
        bound=middle.bound,
        unplaced=asked.pods - middle.bound,
        conflicts=round(middle.conflicts, 5),
        equal_to_reference=equal,
        setup_s=round(bench.setup_s, 2),
    )


def _cpu_seconds() -> float:
    """CPU time of this process so far, all threads, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _same_row(runtime: Runtime, class_id: int) -> bool:
    """Whether one class's cached row equals the rules' own answer."""
    fast = runtime.row(class_id)
    return bool(np.array_equal(fast, runtime.reference_row(class_id)))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _number(body: bytes) -> int:
    """The number in a bench pod's name."""
    return int(decode_pod_head(body).metadata.name[4:])
