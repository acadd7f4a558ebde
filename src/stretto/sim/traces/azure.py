"""Azure VMs on hosts of your choice: tenants' VMs arrive in five-minute bins, live and leave.

A VM asks for its cores and its memory, runs for the chosen end of its lifetime bin from the
moment it starts, and leaves. At one instant leavings come first, then arrivals in the order of the
list. The hosts are packed (the most allocated host first) unless another policy is named, ties go
to the smallest host name. With gangs a tenant's batch starts as one or not at all.

What the figures mean. ``placed`` and ``rejected`` count VMs. Where what does not fit waits, it
waits in order of arrival but may be passed by what fits, and a VM is rejected only when it can
never start: everything else has left and it still does not fit. Where what does not fit is
rejected, it is turned away on arrival (a batch as a whole). ``mean_wait_s`` is the mean over placed
VMs of the time from arrival to start. Percentages are of what all hosts together offer: the peaks
are the highest after any scheduling pass, so they count VMs that live for no time at all; the mean
is over time, from the first arrival to the last leaving.
"""

from collections.abc import Sequence
from math import floor
from typing import Final

import msgspec
import numpy as np

from stretto.framework.compiled.ties import TieRule
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.azure_vm import AzureVm, Lifetime, vm_pods
from stretto.sim.engine import NEVER, Arrivals, PodWork, UnfitPolicy, WorkRecord, WorkRunner
from stretto.sim.policies import policy_profile
from stretto.sim.result import SimulationResult
from stretto.sim.usage import usage
from stretto.sim.world import WorldConfig, build_world

DEFAULT_POLICY: Final = "packing"
"""Fills hosts one after the other, as a provider does."""


class AzureStudy(msgspec.Struct, frozen=True):
    """How VMs are run."""

    #: Which end of a lifetime bin is meant.
    lifetime: Lifetime = Lifetime.MIN
    #: Whether a batch starts as one.
    gangs: bool = False
    #: Where VMs go.
    policy: str = DEFAULT_POLICY
    #: What happens to VMs that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


class AzureReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the VMs."""

    #: VMs that got a host.
    placed: int
    #: VMs that got none.
    rejected: int
    #: Mean wait of placed VMs from arrival to start; null when none was placed.
    mean_wait_s: float | None
    #: Most cores in use at any one time, in percent of all.
    peak_cpu_pct: float
    #: Most memory in use at any one time, in percent of all.
    peak_memory_pct: float
    #: Cores in use over time, in percent of all.
    mean_cpu_pct: float
    #: Whether the run was interrupted.
    partial: bool = False


def simulate_azure(
    vms: Sequence[AzureVm],
    hosts: Sequence[FleetNode],
    study: AzureStudy,
    told: Arrivals | None = None,
) -> SimulationResult[AzureReport]:
    """Run VMs through hosts."""
    config = WorldConfig(
        profile=policy_profile(study.policy, TieRule.NAME),
        retry=study.unfit is UnfitPolicy.WAIT,
        seed=study.seed,
    )
    work = _work(vm_pods(tuple(vms), study.lifetime, gangs=study.gangs))
    record = WorkRunner(build_world(config, hosts), work, told=told).run()
    return _report(work, record, hosts)


def _work(pods: Sequence[FleetPod]) -> list[PodWork]:
    """VMs as work, in the order of the list."""
    return [
        PodWork(pod, floor((pod.arrival_s or 0.0) + 0.5), floor((pod.duration_s or 0.0) + 0.5))
        for pod in pods
    ]


def _report(
    work: Sequence[PodWork], record: WorkRecord, hosts: Sequence[FleetNode]
) -> SimulationResult[AzureReport]:
    """A record in figures."""
    cpu = usage(record, np.array([each.pod.cpu_milli for each in work], np.int64))
    memory = usage(record, np.array([each.pod.memory_mib for each in work], np.int64))
    arrivals = np.array([each.arrival for each in work], np.int64)
    started = record.started != NEVER
    waited = (record.started - arrivals)[started]
    all_cpu = sum(host.cpu_milli for host in hosts)
    all_memory = sum(host.memory_mib for host in hosts)
    span = int(record.ticks[-1] - record.ticks[0]) if len(record.ticks) else 0
    report = AzureReport(
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
