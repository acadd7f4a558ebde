"""The engine bench: throughput and latency of one process, from a JSON body to a bound pod.

A cluster of many nodes and running pods is loaded into the store. Pending pods then arrive as JSON
and pass through a real plane and store. There are three passes: all pods at once (throughput), a
steady rate (latency from submission to bind), and the decoder alone (the upper bound). At the end,
cached score rows are compared with the reference on a sample of classes.
"""

import resource
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base import collector
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.inputs.scenario.workloads import poisson_times
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import Plane
from stretto_lab.bench.engine.decoding import decoding_rate
from stretto_lab.bench.engine.measured import LABELS, PROFILE, use_reports
from stretto_lab.bench.engine.objects import SUBMIT, BenchObjects, number_of
from stretto_lab.bench.engine.options import EngineBenchOptions
from stretto_lab.bench.engine.python_rules import profile_with_rule
from stretto_lab.bench.engine.reference import equals_reference
from stretto_lab.bench.stopwatch import Stopwatches


class EngineResult(msgspec.Struct, frozen=True):
    """Results of the engine bench."""

    #: Options of the run.
    options: EngineBenchOptions
    #: Pods per second from JSON to bind: the median of the rounds.
    end_to_end_per_s: float
    #: Pods per second of each round.
    rounds_per_s: list[float]
    #: CPU microseconds of the process per pod, in the median round.
    cpu_us_per_pod: float
    #: Pods per second through the decoder and the class table alone.
    decode_only_per_s: float
    #: Kernel microseconds per pod in the median round.
    kernel_us_per_pod: float
    #: Median milliseconds from submission to bind at the steady rate.
    p50_ms: float | None
    #: 99th percentile of that latency.
    p99_ms: float | None
    #: Pods per second submitted in the latency pass.
    rate_reached_per_s: float | None
    #: Peak resident memory in MB.
    rss_mb: float
    #: Share of the throughput pass by stage.
    stages: dict[str, float]
    #: Pods bound in the throughput pass.
    bound: int
    #: Pods that were not bound.
    unplaced: int
    #: Share of claims that the binder rejected.
    conflicts: float
    #: True if cached rows equal the reference on a sample.
    equal_to_reference: bool
    #: Seconds of the setup.
    setup_s: float


class ThroughputPass(NamedTuple):
    """Results of one throughput pass."""

    #: Wall seconds.
    seconds: float
    #: CPU seconds of this process.
    cpu_seconds: float
    #: Share of the wall time by stage.
    stages: dict[str, float]
    #: Seconds in the kernel.
    kernel_s: float
    #: Pods bound.
    bound: int
    #: Share of claims that the binder rejected.
    conflicts: float


class _Bench:
    """One run."""

    def __init__(self, options: EngineBenchOptions, seed: int) -> None:
        self.options = options
        self.clock = WallClock()
        self.rng = Rng(seed)
        started = self.clock.monotonic()
        named = {"profiles": [PROFILE]} if options.measured else options.profile
        profile = profile_with_rule(load_profile(named), options.python_rule)
        self.objects = BenchObjects(
            options, self.clock, self.rng, LABELS if options.measured else {}
        )
        if options.measured:
            reports = use_reports(self.objects.nodes, self.clock, self.rng.child("use"))
            self.objects.store.create(CUSTOM_NODE_RESOURCE, reports)
        config = PlaneConfig(
            profile=profile,
            shards=options.shards,
            seed=seed,
            tier=options.tier,
        )
        self.plane = Plane(config, self.objects.store, self.clock)
        self.plane.run_until_idle()
        self._warm_up()
        self._add_unschedulable()
        collector.settle()
        self.setup_s = self.clock.monotonic() - started

    def _warm_up(self) -> None:
        """Compile the kernels and place pods of each class."""
        self.objects.submit(self.objects.templates.bodies(max(2 * self.options.classes, 512)))
        self.plane.run_until_idle()

    def _add_unschedulable(self) -> None:
        """Add pods that stay pending during all passes."""
        for first in range(0, self.options.pending, SUBMIT):
            self.objects.submit_unschedulable(
                range(first, min(first + SUBMIT, self.options.pending))
            )
            self.plane.run_until_idle()

    def throughput(self, watches: Stopwatches) -> ThroughputPass:
        """Submit all pods at once and wait until the plane is idle."""
        bodies = self.objects.templates.bodies(self.options.pods)
        before = self.plane.binder.counts.copy()
        watches.clear()
        start, cpu = self.clock.monotonic(), _cpu_seconds()
        for first in range(0, len(bodies), SUBMIT):
            self.objects.submit(bodies[first : first + SUBMIT])
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
        first = number_of(bodies[0])
        del bodies
        self._remove_pods(range(first, first + self.options.pods))
        return result

    def _remove_pods(self, numbers: range) -> None:
        """Delete the pods of a pass, so that the next pass starts from the same cluster."""
        for start in range(0, len(numbers), SUBMIT):
            self.objects.delete(numbers[start : start + SUBMIT])
            self.plane.step()
        if self.options.units > 1:
            self.objects.delete_groups(numbers)
        self.plane.run_until_idle()

    def stopwatches(self) -> Stopwatches:
        """Install a stopwatch around each part of the plane."""
        watches = Stopwatches(self.clock)
        plane = self.plane
        watches.wrap(self.objects.store, "create", "store.create")
        watches.wrap(self.objects.store, "bind", "store.bind")
        watches.wrap(plane.pump, "poll", "pump")
        dispatcher = plane.dispatcher
        watches.wrap(dispatcher, "absorb", "dispatcher")
        watches.wrap(dispatcher.timers, "wake", "dispatcher")
        watches.wrap(dispatcher.timers, "due", "dispatcher")
        watches.wrap(dispatcher.sender, "dispatch", "dispatcher")
        watches.wrap(dispatcher.answers, "placed", "dispatcher")
        watches.wrap(dispatcher.answers, "set_back", "dispatcher")
        watches.wrap(plane.binder, "commit", "binder")
        for shard in plane.shards:
            watches.wrap(shard, "cycle", "shard")
            watches.wrap(shard.default.runtime, "sync", "snapshot")
            runtime = shard.default.runtime
            assert isinstance(runtime, Runtime)
            watches.wrap(runtime.scores, "place", "kernel")
        return watches

    def latency(self, pace: collector.Pace) -> tuple[float, float, float]:
        """Submit at a constant rate (open loop); return p50 and p99 in ms, and pods per second."""
        count = int(self.options.rate * self.options.seconds)
        due = poisson_times(count, self.options.rate, self.rng.child("latency"))
        bodies = self.objects.templates.bodies(count)
        first = number_of(bodies[0])
        bound = np.full(count, np.nan)
        pace.catch_up()  # collect garbage first, as an idle server does
        self.plane.observers.append(lambda step: self._note_bound(step, first, bound))
        sent, start = 0, self.clock.monotonic()
        self._origin = start
        while sent < count:
            now = self.clock.monotonic() - start
            ready = int(np.searchsorted(due, now, "right"))
            if ready > sent:
                self.objects.submit(bodies[sent:ready])
                sent = ready
            pace.spare(idle=not self.plane.step())
        self.plane.run_until_idle()
        took = self.clock.monotonic() - start
        self.plane.observers.pop()
        waits = (bound - due)[~np.isnan(bound)] * 1000
        if not len(waits):
            return float("nan"), float("nan"), 0.0
        return float(np.percentile(waits, 50)), float(np.percentile(waits, 99)), count / took

    def _note_bound(self, step: Step, first: int, bound: npt.NDArray[np.float64]) -> None:
        now = self.clock.monotonic() - self._origin
        names = self.plane.cluster.pods.name
        for verdict in step.verdicts:
            index = [int(names[row][4:]) - first for row in verdict.granted.tolist()]
            bound[[i for i in index if 0 <= i < len(bound)]] = now

    def decode_only(self) -> float:
        """Pods per second through the decoder alone."""
        bodies = self.objects.templates.bodies(min(self.options.pods, 50_000))
        return decoding_rate(bodies, self.clock)


def run_engine_bench(options: EngineBenchOptions, seed: int = 0) -> EngineResult:
    """Run the bench; use a fresh process, because peak memory is that of the process."""
    bench = _Bench(options, seed)
    watches = bench.stopwatches()
    with collector.Pace() as pace:
        rounds = [bench.throughput(watches) for _ in range(options.rounds)]
        middle = sorted(rounds, key=lambda each: each.seconds)[len(rounds) // 2]
        latency = bench.latency(pace) if options.rate > 0 else (None, None, None)
    equal = equals_reference(bench.plane)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bench.objects.store.close()
    bound = max(1, middle.bound)
    return EngineResult(
        options=options,
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
        unplaced=options.pods - middle.bound,
        conflicts=round(middle.conflicts, 5),
        equal_to_reference=equal,
        setup_s=round(bench.setup_s, 2),
    )


def _cpu_seconds() -> float:
    """CPU time of this process so far, all threads, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
