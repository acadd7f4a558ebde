"""Pods of a trace on hosts: the protocol of formats without a protocol of their own.

At each instant, ends precede arrivals, and arrivals follow the order of the list. Hosts are packed
(the most allocated host first) unless another policy is selected; ties go to the smallest host
name. Pods of one group are a gang: all of them start or none. Pods of higher priority start first,
but evict nothing.

``placed`` and ``rejected`` count pods. Pending pods are ordered by arrival, and later pods that fit
may pass them. A pod is rejected only if it can never start: it does not fit after all others have
ended. With ``reject``, a pod or a gang that does not fit on arrival is rejected. ``mean_wait_s`` is
the mean time from arrival to start of placed pods. Percentages refer to the capacity of all hosts:
a peak is the highest value after a scheduling pass, so it includes pods without a run time; the
mean is over time, from the first arrival to the last end.
"""

from collections.abc import Sequence
from math import floor
from typing import Final

import msgspec
import numpy as np

from stretto.framework.compiled.ties import TieRule
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.sim.engine import NEVER, OnArrivals, PodWork, UnfitPolicy, WorkRecord, WorkRunner
from stretto.sim.policies import policy_profile
from stretto.sim.traces.drivers import PreparedTrace, TraceRun
from stretto.sim.usage import SimulationResult, usage
from stretto.sim.world import WorldConfig, build_world

DEFAULT_POLICY: Final = "packing"
"""Fills one host after the other, like cloud providers."""

NEVER_PREEMPTS: Final = "Never"
"""``preemptionPolicy`` of the pods of a trace, whose ends are given by the trace."""


class HostsStudy(msgspec.Struct, frozen=True):
    """Settings of a simulation on hosts."""

    #: Policy that places pods.
    policy: str = DEFAULT_POLICY
    #: Treatment of pods that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


class HostsReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of a simulation on hosts."""

    #: Pods that started.
    placed: int
    #: Pods that did not start.
    rejected: int
    #: Mean time from arrival to start of placed pods; null if no pod was placed.
    mean_wait_s: float | None
    #: Peak of the cores in use, in percent of all cores.
    peak_cpu_pct: float
    #: Peak of the memory in use, in percent of all memory.
    peak_memory_pct: float
    #: Mean over time of the cores in use, in percent of all cores.
    mean_cpu_pct: float
    #: True if the run was interrupted.
    partial: bool = False


def simulate_on_hosts(
    pods: Sequence[FleetPod],
    hosts: Sequence[FleetNode],
    study: HostsStudy,
    on_arrivals: OnArrivals | None = None,
) -> SimulationResult[HostsReport]:
    """Run pods on hosts at the times of their trace."""
    config = WorldConfig(
        profile=policy_profile(study.policy, TieRule.NAME),
        retry=study.unfit is UnfitPolicy.WAIT,
        seed=study.seed,
    )
    work = _work(pods)
    record = WorkRunner(build_world(config, hosts), work, on_arrivals=on_arrivals).run()
    return _report(work, record, hosts)


def prepare(run: TraceRun) -> PreparedTrace:
    """The driver of formats without a protocol of their own."""
    pods = run.format.pods(run.format.read(run.path, run.models or None), run.keys)
    study = HostsStudy(run.options.get("policy", DEFAULT_POLICY), run.unfit, run.seed)
    return PreparedTrace(
        len(pods), lambda report: simulate_on_hosts(pods, run.hosts, study, report)
    )


def _work(pods: Sequence[FleetPod]) -> list[PodWork]:
    """Pods as work, in the order of the list, with times in whole seconds."""
    return [
        PodWork(
            _without_preemption(pod),
            floor((pod.arrival_s or 0.0) + 0.5),
            floor((pod.duration_s or 0.0) + 0.5),
        )
        for pod in pods
    ]


def _without_preemption(pod: FleetPod) -> FleetPod:
    """The pod with ``preemptionPolicy: Never``, because the trace determines all ends."""
    return msgspec.structs.replace(pod, preemption_policy=NEVER_PREEMPTS) if pod.priority else pod


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
