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
from stretto_lab.bench_kube.options import KubeBench
from stretto_lab.bench_kube.replay import Taken, WritePlan, addressed, writes_of
from stretto_lab.bench_kube.shapes import Shape, counts_of, pod_name
from stretto_lab.bench_kube.sides import Usage, side, usage_of
from stretto_lab.bench_kube.site import Site
from stretto_lab.bench_kube.watch import Curve
from stretto_lab.control_plane.parts import Part

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


class Drain(NamedTuple):
    """The throughput pass."""

    #: Pods bound.
    bound: int
    #: Seconds from just before its first write was seen to the last binding; ``None`` without one.
    seconds: float | None
    #: Seconds from the start of the process to the first binding.
    first_s: float | None
    #: Processor seconds of the scheduler in the same time.
    cpu_s: float | None


class Round(NamedTuple):
    """What one side did in one round."""

    #: The throughput pass.
    drain: Drain
    #: Seconds from seen to bound of each pod of the latency pass; infinity where it stayed out.
    waits: list[float]
    #: What the process has used at the end.
    usage: Usage
    #: Pods over time.
    curve: Curve
    #: The writes of the throughput pass.
    writes: WritePlan


class Ceiling(NamedTuple):
    """The throughput pass of nobody: the writes of a side, sent raw."""

    #: Pods bound.
    bound: int
    #: Seconds from just before the first write was seen to the last one, of any kind.
    seconds: float
    #: Writes of any kind that were not taken.
    failed: int


def measure(shape: Shape, asked: KubeBench, name: str, clock: Clock) -> Round:
    """One round of one side, on a control plane of its own.

    Raises:
        StrettoError: a program has ended before its time.
    """
    counts = counts_of(shape, asked.nodes)
    names = [pod_name(number) for number in range(counts.pods + counts.steady)]
    with Site(shape, asked, clock) as site:
        scheduler = side(name, site.plane, asked.profile, site.folder / "scheduler.log")
        site.create_pods(range(counts.pods))
        try:
            with site.stirred():
                drain = _drain(site, scheduler, names[: counts.pods], asked.patience)
                writes = writes_of(site.seen)
                waits = _steady(site, scheduler, names[counts.pods :], asked)
                usage = usage_of(scheduler.pid)
        finally:
            scheduler.stop()
        return Round(drain, waits, usage, site.seen.curve(), writes)


def ceiling(shape: Shape, asked: KubeBench, writes: WritePlan, clock: Clock) -> Ceiling:
    """What the API server takes of a workload's own writes, with nobody deciding.

    Raises:
        StrettoError: the replay has failed.
    """
    with Site(shape, asked, clock) as site:
        seen = site.seen
        site.create_pods(range(counts_of(shape, asked.nodes).pods))
        wait_for(site, lambda: len(seen.created) >= len(writes.binds), asked.patience)
        plan, out = site.folder / "plan.json", site.folder / "out.json"
        plan.write_bytes(msgspec.json.encode(addressed(writes, seen.uid_of)))
        words = [sys.executable, "-m", "stretto_lab.bench_kube.replay"]
        words += [str(site.plane.kubeconfig), str(plan), str(out)]
        part = Part("replay", words, site.folder / "replay.log")
        part.start()
        try:
            wait_for(site, lambda: not part.is_running, REPLAY_WITHIN)
        finally:
            part.kill()
        if not out.exists():
            raise StrettoError(f"the replay has failed; it said:\n{part.said()}")
        taken = msgspec.json.decode(out.read_bytes(), type=Taken)
        wait_for(site, lambda: len(seen.bound) >= taken.bound, asked.patience)
        wait_for(site, lambda: seen.looked_at - seen.wrote_at > SILENCE, asked.patience)
        return Ceiling(len(seen.bound), seen.wrote_at - seen.idle_at, taken.failed)


def wait_for(site: Site, holds: Callable[[], bool], within: float) -> bool:
    """Look on until something holds; whether it does in time."""
    until = site.seen.looked_at + within
    while not holds():
        site.seen.look(DRAIN_LOOK)
        site.check()
        if site.seen.looked_at > until:
            return False
    return True


def _drain(site: Site, scheduler: Part, names: Sequence[str], patience: float) -> Drain:
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
        return Drain(0, None, None, None)
    end = usage_of(scheduler.pid).cpu_s
    used = None if cpu is None or end is None else end - cpu
    first = min(seen.bound.values())
    return Drain(bound, moved_at - seen.idle_at, first - started, used)


def _steady(site: Site, scheduler: Part, names: Sequence[str], asked: KubeBench) -> list[float]:
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
