"""Pods of a trace on hosts: the protocol of formats that have none of their own.

At one instant ends come first, then arrivals in the order of the list. Hosts are packed (the most
allocated host first) unless another policy is given; ties go to the smallest host name. Pods of
one group start as one gang or not at all.

``placed`` and ``rejected`` count pods. Pods that wait are ordered by arrival and may be passed by
pods that fit; a pod is rejected only when it can never start: it does not fit after everything
else has ended. With ``reject`` a pod (or a gang) that does not fit is rejected on arrival.
``mean_wait_s`` is the mean over placed pods of the time from arrival to start. Percentages are of
the capacity of all hosts: peaks are the highest values after a scheduling pass, so they count pods
without a run time; the mean is over time, from the first arrival to the last end.
"""

from collections.abc import Sequence
from math import floor
from typing import Final

import msgspec
import numpy as np

from stretto.framework.compiled.ties import TieRule
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.sim.engine import NEVER, Arrivals, PodWork, UnfitPolicy, WorkRecord, WorkRunner
from stretto.sim.policies import policy_profile
from stretto.sim.result import SimulationResult
from stretto.sim.traces.drivers import PreparedRun, TraceRun
from stretto.sim.usage import usage
from stretto.sim.world import WorldConfig, build_world

DEFAULT_POLICY: Final = "packing"
"""Fills hosts one after the other, as a provider does."""


class HostsStudy(msgspec.Struct, frozen=True):
    """Settings of a simulation on hosts."""

    #: Policy that places pods.
    policy: str = DEFAULT_POLICY
    #: What happens to pods that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


class HostsReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of a simulation on hosts."""

    #: Pods that started.
    placed: int
    #: Pods that did not.
    rejected: int
    #: Mean wait of placed pods from arrival to start; null when none was placed.
    mean_wait_s: float | None
    #: Peak of the cores in use, in percent of all.
    peak_cpu_pct: float
    #: Peak of the memory in use, in percent of all.
    peak_memory_pct: float
    #: Mean over time of the cores in use, in percent of all.
    mean_cpu_pct: float
    #: Whether the run was interrupted.
    partial: bool = False


def simulate_on_hosts(
    pods: Sequence[FleetPod],
    hosts: Sequence[FleetNode],
    study: HostsStudy,
    told: Arrivals | None = None,
) -> SimulationResult[HostsReport]:
    """Run pods on hosts at the times of their trace."""
    config = WorldConfig(
        profile=policy_profile(study.policy, TieRule.NAME),
        retry=study.unfit is UnfitPolicy.WAIT,
        seed=study.seed,
    )
    work = _work(pods)
    record = WorkRunner(build_world(config, hosts), work, told=told).run()
    return _report(work, record, hosts)


def prepare(run: TraceRun) -> PreparedRun:
    """The driver of formats without a protocol of their own."""
    pods = run.format.pods(run.format.read(run.path, run.models or None), run.keys)
    study = HostsStudy(run.options.get("policy", DEFAULT_POLICY), run.unfit, run.seed)
    return PreparedRun(len(pods), lambda told: simulate_on_hosts(pods, run.hosts, study, told))


def _work(pods: Sequence[FleetPod]) -> list[PodWork]:
    """Pods as work, in the order of the list; times in whole seconds."""
    return [
        PodWork(pod, floor((pod.arrival_s or 0.0) + 0.5), floor((pod.duration_s or 0.0) + 0.5))
        for pod in pods
    ]


def _report(
    work: Sequence[PodWork], record: WorkRecord, hosts: Sequence[FleetNode]
) -> SimulationResult[HostsReport]:
    """The report of a record."""
    cpu = usage(record, np.array([each.pod.cpu_milli for each in work], np.int64))
    memory = usage(record, np.array([each.pod.memory_mib for each in work], np.int64))
    arrivals = np.array([each.arrival for each in work], np.int64)
    started = record.started != NEVER
    waited = (record.started - arrivals)[started]
    all_cpu = sum(host.cpu_milli for host in hosts)
    all_memory = sum(host.memory_mib for host in hosts)
    span = int(record.ticks[-1] - record.ticks[0]) if len(record.ticks) else 0
    report = HostsReport(
        placed=int(started.sum()),
        rejected=int(record.rejected.sum()),
        mean_wait_s=float(waited.mean()) if len(waited) else None,
        peak_cpu_pct=100.0 * cpu.peak / all_cpu,
        peak_memory_pct=100.0 * memory.peak / all_memory,
        mean_cpu_pct=100.0 * cpu.amount_ticks / (all_cpu * span) if span else 0.0,
        partial=record.partial,
    )
    lines = (cpu.line("CPU", all_cpu, 1.0), memory.line("memory", all_memory, 1.0, colour=1))
    return SimulationResult(report, lines)
