"""One round of one side, and one measurement of the ceiling.

A round has two passes. *Drain*: all pods are pending before the scheduler starts, and the loader is
idle. Its time lasts from just before the first write (a bind, or an eviction that frees capacity
for one) to the last bind. *Steady*: the loader creates pods at a constant rate, and the time of
each pod from its first event to its bind counts. The ceiling is measured like a drain, with the
same watcher, because a watch shows a bind later than its sender receives the reply: by a tenth of a
drain on a busy machine.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto_lab.bench.kube.options import KubeBenchOptions
from stretto_lab.bench.kube.replay import WritePlan, WriteResults, with_uids, writes_of
from stretto_lab.bench.kube.shapes import WorkloadShape, pod_name, workload_counts
from stretto_lab.bench.kube.sides import ProcessUsage, side, usage_of
from stretto_lab.bench.kube.site import BenchSite
from stretto_lab.bench.kube.watch import PodCurve
from stretto_lab.control_plane.parts import ServerProcess

DRAIN_LOOK: Final = 0.02
"""Polling interval during a drain in seconds; each poll costs some CPU time."""
STEADY_LOOK: Final = 0.005
"""Polling interval during the latency pass in seconds."""
SILENCE: Final = 2.0
"""Seconds without a write after which the watch is considered complete."""
START_WITHIN: Final = 300.0
"""Seconds within which the first bind must occur, including compilation on a new machine."""
REPLAY_WITHIN: Final = 3600.0
"""Time limit in seconds for the replay of one workload."""


class DrainPass(NamedTuple):
    """The throughput pass."""

    #: Pods bound.
    bound: int
    #: Seconds from just before the first write to the last bind; ``None`` without a bind.
    seconds: float | None
    #: Seconds from the start of the process to the first bind.
    first_s: float | None
    #: CPU seconds of the scheduler in the pass.
    cpu_s: float | None


class BenchRound(NamedTuple):
    """Results of one side in one round."""

    #: The throughput pass.
    drain: DrainPass
    #: Seconds from the first event to the bind of each pod of the latency pass; infinity if it
    #: stayed pending.
    waits: list[float]
    #: Resource usage of the process at the end.
    usage: ProcessUsage
    #: Pods over time.
    curve: PodCurve
    #: The writes of the throughput pass.
    writes: WritePlan


class WriteCeiling(NamedTuple):
    """The throughput pass without a scheduler: raw replay of the writes of a side."""

    #: Pods bound.
    bound: int
    #: Seconds from just before the first write to the last write of any kind.
    seconds: float
    #: Rejected writes of any kind.
    failed: int


def measure(shape: WorkloadShape, options: KubeBenchOptions, name: str, clock: Clock) -> BenchRound:
    """Measure one round of one side on a new control plane.

    Raises:
        StrettoError: a program has exited early.
    """
    counts = workload_counts(shape, options.nodes)
    names = [pod_name(number) for number in range(counts.pods + counts.steady)]
    with BenchSite(shape, options, clock) as site:
        scheduler = side(name, site.plane, options.profile, site.folder / "scheduler.log")
        site.create_pods(range(counts.pods))
        try:
            with site.churned():
                drain = _drain(site, scheduler, names[: counts.pods], options.timeout)
                writes = writes_of(site.seen)
                waits = _steady(site, scheduler, names[counts.pods :], options)
                usage = usage_of(scheduler.pid)
        finally:
            scheduler.stop()
        return BenchRound(drain, waits, usage, site.seen.curve(), writes)


def ceiling(
    shape: WorkloadShape, options: KubeBenchOptions, writes: WritePlan, clock: Clock
) -> WriteCeiling:
    """Measure the raw replay of the writes of a workload.

    Raises:
        StrettoError: the replay has failed.
    """
    with BenchSite(shape, options, clock) as site:
        seen = site.seen
        site.create_pods(range(workload_counts(shape, options.nodes).pods))
        wait_for(site, lambda: len(seen.created) >= len(writes.binds), options.timeout)
        plan, out = site.folder / "plan.json", site.folder / "out.json"
        plan.write_bytes(msgspec.json.encode(with_uids(writes, seen.uid_of)))
        words = [sys.executable, "-m", "stretto_lab.bench.kube.replay"]
        words += [str(site.plane.kubeconfig), str(plan), str(out)]
        part = ServerProcess("replay", words, site.folder / "replay.log")
        part.start()
        try:
            wait_for(site, lambda: not part.is_running, REPLAY_WITHIN)
        finally:
            part.kill()
        if not out.exists():
            raise StrettoError(f"the replay failed; last lines of its log:\n{part.log_tail()}")
        taken = msgspec.json.decode(out.read_bytes(), type=WriteResults)
        wait_for(site, lambda: len(seen.bound) >= taken.bound, options.timeout)
        wait_for(site, lambda: seen.looked_at - seen.wrote_at > SILENCE, options.timeout)
        return WriteCeiling(len(seen.bound), seen.wrote_at - seen.idle_at, taken.failed)


def wait_for(site: BenchSite, holds: Callable[[], bool], within: float) -> bool:
    """Poll until ``holds`` is true; false after ``within`` seconds."""
    until = site.seen.looked_at + within
    while not holds():
        site.seen.look(DRAIN_LOOK)
        site.check()
        if site.seen.looked_at > until:
            return False
    return True


def _drain(
    site: BenchSite, scheduler: ServerProcess, names: Sequence[str], timeout: float
) -> DrainPass:
    """Start the scheduler with all pods pending, and poll until they are bound."""
    seen = site.seen
    wait_for(site, lambda: len(seen.created) >= len(names), timeout)
    scheduler.start()
    started = moved_at = seen.looked_at
    cpu = usage_of(scheduler.pid).cpu_s
    bound = 0
    while bound < len(names):
        if not seen.has_begun:
            cpu = usage_of(scheduler.pid).cpu_s
        seen.look(DRAIN_LOOK)
        if len(seen.bound) > bound:
            bound, moved_at = len(seen.bound), seen.looked_at
        scheduler.check()
        site.check()
        if seen.looked_at - moved_at > (timeout if bound else max(timeout, START_WITHIN)):
            break
    if not bound:
        return DrainPass(0, None, None, None)
    end = usage_of(scheduler.pid).cpu_s
    used = None if cpu is None or end is None else end - cpu
    first = min(seen.bound.values())
    return DrainPass(bound, moved_at - seen.idle_at, first - started, used)


def _steady(
    site: BenchSite, scheduler: ServerProcess, names: Sequence[str], options: KubeBenchOptions
) -> list[float]:
    """Create pods at a constant rate and return their waits in seconds."""
    seen = site.seen
    first = int(names[0].rpartition("-")[2])
    moved_at, bound = seen.looked_at, len(seen.bound)
    with site.creating(range(first, first + len(names))):
        while any(name not in seen.bound for name in names):
            seen.look(STEADY_LOOK)
            if len(seen.bound) > bound:
                bound, moved_at = len(seen.bound), seen.looked_at
            scheduler.check()
            site.check()
            if seen.looked_at - moved_at > options.timeout:
                break
    return seen.waits([name for name in names if name in seen.created])
