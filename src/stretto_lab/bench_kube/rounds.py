"""One round of one side, and one of the ceiling.

A round has two passes. *Drain*: all pods wait before the scheduler starts and the loader stands
still; what counts is the time from just before its first write (a binding, or the eviction that
makes room for one) to the last binding. *Steady*: the loader
creates pods at an even rate; what counts is the time of each pod from seen to seen bound.
The ceiling is timed as a drain is, by the same onlooker: a watch shows a binding later than its
sender has the answer, on a busy machine by a tenth of a drain.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto_lab.bench_kube.options import KubeBenchOptions
from stretto_lab.bench_kube.replay import WritePlan, WriteResults, with_uids, writes_of
from stretto_lab.bench_kube.shapes import WorkloadShape, pod_name, workload_counts
from stretto_lab.bench_kube.sides import ProcessUsage, side, usage_of
from stretto_lab.bench_kube.site import BenchSite
from stretto_lab.bench_kube.watch import PodCurve
from stretto_lab.control_plane.parts import ServerProcess

DRAIN_LOOK: Final = 0.02
"""Seconds between looks while pods drain; each look costs the machine a little."""
STEADY_LOOK: Final = 0.005
"""Seconds between looks while latency is measured."""
SILENCE: Final = 2.0
"""Seconds without a write after which a watch is taken to have shown them all."""
START_WITHIN: Final = 300.0
"""Seconds for the first binding: a new machine compiles kernels first."""
REPLAY_WITHIN: Final = 3600.0
"""Seconds for the replay of one workload."""


class DrainPass(NamedTuple):
    """The throughput pass."""

    #: Pods bound.
    bound: int
    #: Seconds from just before its first write was seen to the last binding; ``None`` without one.
    seconds: float | None
    #: Seconds from the start of the process to the first binding.
    first_s: float | None
    #: Processor seconds of the scheduler in the same time.
    cpu_s: float | None


class BenchRound(NamedTuple):
    """What one side did in one round."""

    #: The throughput pass.
    drain: DrainPass
    #: Seconds from seen to bound of each pod of the latency pass; infinity where it stayed out.
    waits: list[float]
    #: What the process has used at the end.
    usage: ProcessUsage
    #: Pods over time.
    curve: PodCurve
    #: The writes of the throughput pass.
    writes: WritePlan


class WriteCeiling(NamedTuple):
    """The throughput pass of nobody: the writes of a side, sent raw."""

    #: Pods bound.
    bound: int
    #: Seconds from just before the first write was seen to the last one, of any kind.
    seconds: float
    #: Writes of any kind that were not taken.
    failed: int


def measure(shape: WorkloadShape, asked: KubeBenchOptions, name: str, clock: Clock) -> BenchRound:
    """One round of one side, on a control plane of its own.

    Raises:
        StrettoError: a program has ended before its time.
    """
    counts = workload_counts(shape, asked.nodes)
    names = [pod_name(number) for number in range(counts.pods + counts.steady)]
    with BenchSite(shape, asked, clock) as site:
        scheduler = side(name, site.plane, asked.profile, site.folder / "scheduler.log")
        site.create_pods(range(counts.pods))
        try:
            with site.churned():
                drain = _drain(site, scheduler, names[: counts.pods], asked.patience)
                writes = writes_of(site.seen)
                waits = _steady(site, scheduler, names[counts.pods :], asked)
                usage = usage_of(scheduler.pid)
        finally:
            scheduler.stop()
        return BenchRound(drain, waits, usage, site.seen.curve(), writes)


def ceiling(
    shape: WorkloadShape, asked: KubeBenchOptions, writes: WritePlan, clock: Clock
) -> WriteCeiling:
    """What the API server takes of a workload's own writes, with nobody deciding.

    Raises:
        StrettoError: the replay has failed.
    """
    with BenchSite(shape, asked, clock) as site:
        seen = site.seen
        site.create_pods(range(workload_counts(shape, asked.nodes).pods))
        wait_for(site, lambda: len(seen.created) >= len(writes.binds), asked.patience)
        plan, out = site.folder / "plan.json", site.folder / "out.json"
        plan.write_bytes(msgspec.json.encode(with_uids(writes, seen.uid_of)))
        words = [sys.executable, "-m", "stretto_lab.bench_kube.replay"]
        words += [str(site.plane.kubeconfig), str(plan), str(out)]
        part = ServerProcess("replay", words, site.folder / "replay.log")
        part.start()
        try:
            wait_for(site, lambda: not part.is_running, REPLAY_WITHIN)
        finally:
            part.kill()
        if not out.exists():
            raise StrettoError(f"the replay has failed; it said:\n{part.said()}")
        taken = msgspec.json.decode(out.read_bytes(), type=WriteResults)
        wait_for(site, lambda: len(seen.bound) >= taken.bound, asked.patience)
        wait_for(site, lambda: seen.looked_at - seen.wrote_at > SILENCE, asked.patience)
        return WriteCeiling(len(seen.bound), seen.wrote_at - seen.idle_at, taken.failed)


def wait_for(site: BenchSite, holds: Callable[[], bool], within: float) -> bool:
    """Look on until something holds; whether it does in time."""
    until = site.seen.looked_at + within
    while not holds():
        site.seen.look(DRAIN_LOOK)
        site.check()
        if site.seen.looked_at > until:
            return False
    return True


def _drain(
    site: BenchSite, scheduler: ServerProcess, names: Sequence[str], patience: float
) -> DrainPass:
    """Start the scheduler before pods that wait, and look on until they are bound."""
    seen = site.seen
    wait_for(site, lambda: len(seen.created) >= len(names), patience)
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
        if seen.looked_at - moved_at > (patience if bound else max(patience, START_WITHIN)):
            break
    if not bound:
        return DrainPass(0, None, None, None)
    end = usage_of(scheduler.pid).cpu_s
    used = None if cpu is None or end is None else end - cpu
    first = min(seen.bound.values())
    return DrainPass(bound, moved_at - seen.idle_at, first - started, used)


def _steady(
    site: BenchSite, scheduler: ServerProcess, names: Sequence[str], asked: KubeBenchOptions
) -> list[float]:
    """Pods at an even rate: how long each waits for its node."""
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
            if seen.looked_at - moved_at > asked.patience:
                break
    return seen.waits([name for name in names if name in seen.created])
