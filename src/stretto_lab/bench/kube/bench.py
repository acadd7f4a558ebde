"""Stretto and kube-scheduler on the same machine, with the same objects and API server.

Both sides and the ceiling alternate by round, each on a new control plane. The ceiling is a raw
replay of Stretto's writes in that round, by the same client, with the watcher running and the
loader stopped.
"""

import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.framework.profile.profile import load_profile
from stretto_lab.bench.kube.options import KUBE_SCHEDULER, QUIET, STRETTO, KubeBenchOptions
from stretto_lab.bench.kube.rounds import BenchRound, WriteCeiling, ceiling, measure
from stretto_lab.bench.kube.shapes import (
    WorkloadCounts,
    WorkloadShape,
    shape_named,
    workload_counts,
)
from stretto_lab.bench.kube.watch import PodCurve
from stretto_lab.control_plane.cluster import CORE
from stretto_lab.control_plane.tools import build

OnStep = Callable[[str], None]
"""Callback with a message for each long step."""


class SchedulerResult(msgspec.Struct, frozen=True):
    """Results of one scheduler with one workload; medians over the rounds."""

    #: Pods per second from just before the first write to the last bind, loader stopped.
    pods_per_s: float | None
    #: Median seconds from the first event of a pod to its bind, at the constant rate.
    p50_s: float | None
    #: 99th percentile of that latency.
    p99_s: float | None
    #: Seconds from the start of the process to the first bind, with all pods pending.
    start_to_first_binding_s: float | None
    #: CPU microseconds of the process per pod in the throughput pass.
    cpu_us_per_pod: float | None
    #: Peak resident memory of the process in MB.
    rss_mb: float | None
    #: Pods bound in the throughput pass; the minimum of all rounds.
    bound: int
    #: Pods of both passes that were not bound; the maximum of all rounds.
    unbound: int
    #: Pods per second in each round.
    rounds_per_s: list[float | None]
    #: Pods over time in the last round.
    curve: PodCurve


class WorkloadResult(msgspec.Struct, frozen=True):
    """Results of one workload."""

    #: Nodes.
    nodes: int
    #: Pod counts.
    pods: WorkloadCounts
    #: Results of Stretto.
    stretto: SchedulerResult
    #: Results of Stretto without ``Scheduled`` events; ``None`` if not selected.
    stretto_without_events: SchedulerResult | None
    #: Results of kube-scheduler; ``None`` if not selected or not supported.
    kube_scheduler: SchedulerResult | None
    #: Pods per second of the raw replay; ``None`` without binds.
    api_ceiling_per_s: float | None
    #: Pods per second of the replay in each round.
    ceiling_rounds_per_s: list[float | None]
    #: Rate of Stretto divided by that of kube-scheduler; both write ``Scheduled`` events.
    ratio: float | None
    #: Rate of Stretto divided by the ceiling.
    share_of_ceiling: float | None
    #: Rejected writes of the replay, in all rounds.
    replay_failed: int


class _WorkloadRounds(NamedTuple):
    """All rounds of one workload."""

    #: Rounds by side.
    sides: dict[str, list[BenchRound]]
    #: The ceilings.
    ceilings: list[WriteCeiling]


def check(opts: KubeBenchOptions) -> None:
    """Check the options before anything is built.

    Raises:
        InputError: a workload or the profile is unknown or cannot be read.
    """
    opts.names()
    load_profile(opts.profile)


def run_kube_bench(
    options: KubeBenchOptions, clock: Clock, on_step: OnStep
) -> Iterator[tuple[str, WorkloadResult]]:
    """Measure the selected workloads; missing programs are built first.

    Each result is yielded when it is complete, so that a later failure does not lose it.

    Raises:
        StrettoError: a program cannot be built, or has exited early.
    """
    names = options.names()
    build((*CORE, *([KUBE_SCHEDULER] if options.against == KUBE_SCHEDULER else [])), on_step)
    on_step("warm-up in memory, so that all kernels are compiled before the measurements")
    warm_up_kernels(options.profile, names)
    for name in names:
        yield name, _workload(shape_named(name), options, clock, on_step)


def plain(results: Mapping[str, WorkloadResult]) -> dict[str, Any]:
    """The results as plain data, one key per workload."""
    found: dict[str, Any] = {}
    for name, result in results.items():
        fields = msgspec.to_builtins(result)
        fields["pods"] = result.pods._asdict()
        for key, label in _LABELS.items():
            fields[label] = side = fields.pop(key)
            if side is not None:
                side["curve"] = dict(zip(PodCurve._fields, side["curve"], strict=True))
        order = (*_LABELS.values(), *(key for key in fields if key not in _LABELS.values()))
        found[name] = {key: fields[key] for key in order}
    return found


_LABELS: Final = {
    "stretto": STRETTO,
    "stretto_without_events": QUIET,
    "kube_scheduler": KUBE_SCHEDULER,
}
"""Names of the sides in files, by field."""


def warm_up_kernels(profile: str, names: Sequence[str]) -> None:
    """Place workloads once in a separate process, which compiles their kernels.

    Raises:
        StrettoError: the warm-up failed.
    """
    words = [sys.executable, "-m", "stretto_lab.bench.kube.warm", profile, *names]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StrettoError(f"the warm-up failed:\n{done.stderr.strip()[-2000:]}")


def schedulers_of(shape: WorkloadShape, options: KubeBenchOptions) -> list[str]:
    """The schedulers to measure; kube-scheduler does not support gangs of PodGroups."""
    quiet = [QUIET] if options.both_settings else []
    theirs = [KUBE_SCHEDULER] if options.against == KUBE_SCHEDULER and shape.gang == 1 else []
    return [STRETTO, *quiet, *theirs]


def _workload(
    shape: WorkloadShape, options: KubeBenchOptions, clock: Clock, on_step: OnStep
) -> WorkloadResult:
    counts = workload_counts(shape, options.nodes)
    rounds = _WorkloadRounds({name: [] for name in schedulers_of(shape, options)}, [])
    for number in range(options.rounds):
        turn = f"{shape.name}, round {number + 1} of {options.rounds}"
        order = list(rounds.sides)
        for name in order if number % 2 == 0 else reversed(order):
            on_step(f"{turn}: {name}, {counts.pods:,} pods on {options.nodes:,} nodes")
            found = measure(shape, options, name, clock)
            rounds.sides[name].append(found)
            on_step(
                f"{turn}: {name} bound {found.drain.bound:,}, "
                f"{_shown(pods_per_second(found))} a second"
            )
        writes = rounds.sides[STRETTO][-1].writes
        if writes.binds:
            on_step(f"{turn}: ceiling, raw replay of the same writes")
            rounds.ceilings.append(ceiling(shape, options, writes, clock))
    return result_of(counts, options.nodes, rounds.sides, rounds.ceilings)


# ------------------------------------------------------------ figures


def result_of(
    counts: WorkloadCounts,
    nodes: int,
    sides: Mapping[str, Sequence[BenchRound]],
    ceilings: Sequence[WriteCeiling],
) -> WorkloadResult:
    """Compute the figures of a workload from its rounds."""
    ours = side_of(sides[STRETTO], counts)
    quiet, theirs = (
        side_of(sides[name], counts) if name in sides else None for name in (QUIET, KUBE_SCHEDULER)
    )
    tops = [each.bound / each.seconds if each.bound else None for each in ceilings]
    top = _median(tops)
    return WorkloadResult(
        nodes,
        counts,
        ours,
        quiet,
        theirs,
        _rounded(top, 1),
        [_rounded(each, 1) for each in tops],
        _over(ours.pods_per_s, None if theirs is None else theirs.pods_per_s),
        _over(ours.pods_per_s, top),
        sum(each.failed for each in ceilings),
    )


def side_of(rounds: Sequence[BenchRound], counts: WorkloadCounts) -> SchedulerResult:
    """Compute the figures of one side from its rounds."""
    rates = [pods_per_second(each) for each in rounds]
    waits = sorted(wait for each in rounds for wait in each.waits)
    out = [counts.pods - each.drain.bound + _never(each, counts) for each in rounds]
    return SchedulerResult(
        pods_per_s=_rounded(_median(rates), 1),
        p50_s=quantile(waits, 0.5),
        p99_s=quantile(waits, 0.99),
        start_to_first_binding_s=_rounded(_median([each.drain.first_s for each in rounds]), 2),
        cpu_us_per_pod=_rounded(_median([_cpu_of(each) for each in rounds]), 1),
        rss_mb=_rounded(max((each.usage.rss_mb or 0.0 for each in rounds), default=0.0) or None, 1),
        bound=min(each.drain.bound for each in rounds),
        unbound=max(out),
        rounds_per_s=[_rounded(rate, 1) for rate in rates],
        curve=rounds[-1].curve,
    )


def pods_per_second(found: BenchRound) -> float | None:
    """Pods per second of the throughput pass; ``None`` without binds."""
    drain = found.drain
    return drain.bound / drain.seconds if drain.seconds else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The nearest rank of a sorted list; ``None`` if it is infinite or the list is empty.

    >>> quantile([1.0, 2.0, 3.0], 0.5), quantile([], 0.5), quantile([float("inf")], 0.99)
    (2.0, None, None)
    """
    if not values:
        return None
    found = values[max(0, math.ceil(share * len(values)) - 1)]
    return round(found, 4) if math.isfinite(found) else None


def _never(found: BenchRound, counts: WorkloadCounts) -> int:
    """Pods of the latency pass that were not bound or not created."""
    return counts.steady - sum(math.isfinite(wait) for wait in found.waits)


def _cpu_of(found: BenchRound) -> float | None:
    drain = found.drain
    return None if drain.cpu_s is None or not drain.bound else drain.cpu_s / drain.bound * 1e6


def _median(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return median(there) if there else None


def _over(part: float | None, whole: float | None) -> float | None:
    return round(part / whole, 3) if part is not None and whole else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _shown(rate: float | None) -> str:
    return "none" if rate is None else f"{rate:,.0f}"
