"""Azure VMs on hosts: VMs of tenants arrive in five-minute bins, run and end.

A VM requests its cores and its memory, runs for the selected end of its lifetime bin from its
start, and ends. With gangs a tenant's batch starts as one or not at all. Everything else is as in
``sim.traces.hosts``.
"""

from collections.abc import Sequence

import msgspec

from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.azure_vm import AzureVm, Lifetime, vm_pods
from stretto.sim.engine import Arrivals, UnfitPolicy
from stretto.sim.result import SimulationResult
from stretto.sim.traces.drivers import PreparedRun, TraceRun
from stretto.sim.traces.hosts import DEFAULT_POLICY, HostsReport, HostsStudy, simulate_on_hosts


class AzureStudy(msgspec.Struct, frozen=True):
    """Settings of a simulation of VMs."""

    #: The end of the lifetime bin that is used.
    lifetime: Lifetime = Lifetime.MIN
    #: Whether a batch starts as one gang.
    gangs: bool = False
    #: Policy that places VMs.
    policy: str = DEFAULT_POLICY
    #: What happens to VMs that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


def simulate_azure(
    vms: Sequence[AzureVm],
    hosts: Sequence[FleetNode],
    study: AzureStudy,
    told: Arrivals | None = None,
) -> SimulationResult[HostsReport]:
    """Run VMs on hosts."""
    pods = vm_pods(tuple(vms), study.lifetime, gangs=study.gangs)
    settings = HostsStudy(study.policy, study.unfit, study.seed)
    return simulate_on_hosts(pods, hosts, settings, told)


def prepare(run: TraceRun) -> PreparedRun:
    """The driver of the azure-vm format."""
    keys, vms = run.keys, run.format.read(run.path, None)
    study = AzureStudy(
        lifetime=Lifetime(keys.lifetime),
        gangs=keys.gangs,
        policy=run.options.get("policy", DEFAULT_POLICY),
        unfit=run.unfit,
        seed=run.seed,
    )
    return PreparedRun(len(vms), lambda told: simulate_azure(vms, run.hosts, study, told))
