"""Azure VMs on hosts: the VMs arrive in five-minute bins, run and end.

A VM requests its cores and its memory and runs for the lower or upper bound of its lifetime bin.
With gangs, all VMs of a subscription's batch start or none. Otherwise the protocol is that of
``sim.traces.hosts``.
"""

from collections.abc import Sequence

import msgspec

from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.azure_vm import AzureVm, Lifetime, vm_pods
from stretto.sim.engine import OnArrivals, UnfitPolicy
from stretto.sim.traces.drivers import PreparedTrace, TraceRun
from stretto.sim.traces.hosts import DEFAULT_POLICY, HostsReport, HostsStudy, simulate_on_hosts
from stretto.sim.usage import SimulationResult


class AzureStudy(msgspec.Struct, frozen=True):
    """Settings of a simulation of VMs."""

    #: Bound of the lifetime bin that is the run time.
    lifetime: Lifetime = Lifetime.MIN
    #: True if each batch is a gang.
    gangs: bool = False
    #: Policy that places VMs.
    policy: str = DEFAULT_POLICY
    #: Treatment of VMs that do not fit.
    unfit: UnfitPolicy = UnfitPolicy.WAIT
    #: Seed of every draw.
    seed: int = 0


def simulate_azure(
    vms: Sequence[AzureVm],
    hosts: Sequence[FleetNode],
    study: AzureStudy,
    on_arrivals: OnArrivals | None = None,
) -> SimulationResult[HostsReport]:
    """Run VMs on hosts."""
    pods = vm_pods(tuple(vms), study.lifetime, gangs=study.gangs)
    settings = HostsStudy(study.policy, study.unfit, study.seed)
    return simulate_on_hosts(pods, hosts, settings, on_arrivals)


def prepare(run: TraceRun) -> PreparedTrace:
    """The driver of the azure-vm format."""
    keys, vms = run.keys, run.format.read(run.path, None)
    study = AzureStudy(
        lifetime=Lifetime(keys.lifetime),
        gangs=keys.gangs,
        policy=run.options.get("policy", DEFAULT_POLICY),
        unfit=run.unfit,
        seed=run.seed,
    )
    return PreparedTrace(len(vms), lambda report: simulate_azure(vms, run.hosts, study, report))
