"""The Azure VM trace: virtual machines that arrive in batches of tenants, with lifetimes.

From the Azure Public Dataset V1 (Cortez et al., SOSP 2017) as decoded by Huawei Cloud. A lifetime
is known up to a bin; the caller selects a value of the bin. The trace has no hosts. VMs of one
batch arrive together from one tenant and may be a gang.
"""

from enum import Enum
from pathlib import Path
from typing import Final, Literal

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import MAX_CPU_MILLI, MAX_MEMORY_MIB, FleetPod
from stretto.inputs.neutral.tables import CsvLayout, CsvTable, read_table

VM_LAYOUT: Final = CsvLayout(
    (
        "vm_id",
        "arrival_s",
        "batch_id",
        "vcpu",
        "memory_gb",
        "duration_min_s",
        "duration_max_s",
        "censored",
    )
)
"""Columns of a VM list."""
_MAX_TIME_S: Final = 10**10
"""Three centuries: a larger time is in milliseconds."""


class Lifetime(Enum):
    """The selected value of a VM's lifetime bin."""

    #: The lower end.
    MIN = "min"
    #: The middle.
    MID = "mid"
    #: The upper end.
    MAX = "max"


class AzureVms(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in azure-vm format."""

    #: The CSV file (or .csv.gz) of VMs, relative to the scenario.
    vms: str
    #: The selected value of the lifetime bin.
    lifetime: Literal["min", "mid", "max"] = "min"
    #: True if the VMs of a batch are a gang.
    gangs: bool = False


class AzureVm(msgspec.Struct, frozen=True, gc=False):
    """One virtual machine."""

    #: Identity in the trace.
    vm_id: str
    #: Second of its arrival, in bins of five minutes.
    arrival_s: float
    #: The batch of its tenant.
    batch_id: str
    #: Virtual cores.
    vcpu: int
    #: Memory in MiB.
    memory_mib: int
    #: Lower end of its lifetime in seconds; 0 means below five minutes.
    duration_min_s: float
    #: Upper end of its lifetime in seconds.
    duration_max_s: float
    #: True if it was still running when the trace ended.
    censored: bool

    def duration(self, lifetime: Lifetime) -> float:
        """Its lifetime in seconds for a selected value of the bin."""
        if lifetime is Lifetime.MIN:
            return self.duration_min_s
        if lifetime is Lifetime.MAX:
            return self.duration_max_s
        return (self.duration_min_s + self.duration_max_s) / 2


def load_vms(path: Path) -> tuple[AzureVm, ...]:
    """The VMs of a list (plain or gzip), in its order."""
    table = read_table(path, VM_LAYOUT)
    batches = table.integers("batch_id", 0, _MAX_TIME_S)
    lows, highs = _durations(table)
    memories = table.decimals("memory_gb", 0, MAX_MEMORY_MIB // 1024)
    rows = zip(
        table.names("vm_id"),
        map(float, table.integers("arrival_s", 0, _MAX_TIME_S)),
        map(str, batches),
        table.integers("vcpu", 1, MAX_CPU_MILLI // 1000),
        [round(gigabytes * 1024) for gigabytes in memories],
        lows,
        highs,
        map(bool, table.integers("censored", 0, 1)),
        strict=True,
    )
    vms = tuple(AzureVm(*row) for row in rows)
    if not vms:
        raise InputError(f"{path}, line 2", None, "at least one VM", "add a row")
    return vms


def vm_pods(
    vms: tuple[AzureVm, ...], lifetime: Lifetime = Lifetime.MIN, *, gangs: bool = False
) -> tuple[FleetPod, ...]:
    """The VMs as pods; with ``gangs`` the VMs of a batch share a group."""
    sizes: dict[str, int] = {}
    if gangs:
        for vm in vms:
            sizes[vm.batch_id] = sizes.get(vm.batch_id, 0) + 1
    return tuple(
        FleetPod(
            name=f"vm-{vm.vm_id}",
            cpu_milli=1000 * vm.vcpu,
            memory_mib=vm.memory_mib,
            arrival_s=vm.arrival_s,
            duration_s=vm.duration(lifetime),
            group=f"batch-{vm.batch_id}" if sizes.get(vm.batch_id, 0) > 1 else "",
        )
        for vm in vms
    )


def vm_pods_of(vms: tuple[AzureVm, ...], keys: AzureVms) -> tuple[FleetPod, ...]:
    """The VMs as pods, with the keys of a workload."""
    return vm_pods(vms, Lifetime(keys.lifetime), gangs=keys.gangs)


def _durations(table: CsvTable) -> tuple[list[float], list[float]]:
    """Both ends of the lifetime bins."""
    lows = table.integers("duration_min_s", 0, _MAX_TIME_S)
    highs = table.integers("duration_max_s", 0, _MAX_TIME_S)
    for row, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if high < low:
            table.refuse(row, "duration_max_s", f"a time not before duration_min_s {low}")
    return list(map(float, lows)), list(map(float, highs))
