"""Azure VMs through the real plane, against a plain program."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.traces.azure_vm import AzureVm, Lifetime, load_vms, vm_pods
from stretto.sim.engine import UnfitPolicy
from stretto.sim.traces.azure import AzureStudy, simulate_azure
from tests.support.references import hosts

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

HOSTS = nodes_like("64cpu-256gib:6,16cpu-64gib:4")


def agree(vms: tuple[AzureVm, ...], study: AzureStudy) -> dict[str, Any]:
    ours = msgspec.to_builtins(simulate_azure(vms, HOSTS, study).report)
    pods = vm_pods(vms, study.lifetime, gangs=study.gangs)
    theirs = hosts.run_vms(HOSTS, pods, waiting=study.unfit is UnfitPolicy.WAIT)
    expected = {key: pytest.approx(value) for key, value in theirs.items()}
    assert expected == {key: ours[key] for key in theirs}
    return theirs


@pytest.fixture(scope="module")
def first_hours(shared_data: Path) -> tuple[AzureVm, ...]:
    return load_vms(shared_data / "azure_vm_2017" / "azure_vm_2017_24h.csv.gz")[:800]


def crowded(unfit: UnfitPolicy, *, gangs: bool) -> AzureStudy:
    return AzureStudy(Lifetime.MAX, gangs=gangs, policy="best-fit", unfit=unfit)


@pytest.mark.parametrize("gangs", [False, True])
@pytest.mark.parametrize("unfit", list(UnfitPolicy))
def test_the_first_hours_of_the_real_trace_agree(
    first_hours: tuple[AzureVm, ...], unfit: UnfitPolicy, gangs: bool
) -> None:
    vms = of_one_size(first_hours) if gangs else first_hours
    found = agree(vms, crowded(unfit, gangs=gangs))
    assert found["rejected" if unfit is UnfitPolicy.REJECT else "mean_wait_s"] > 0


def test_batches_of_several_sizes_fill_the_hosts_as_in_the_order_of_the_trace(
    first_hours: tuple[AzureVm, ...],
) -> None:
    """Other orders of the members start batches that the plain program rejects, and later ones
    find less capacity; the totals differ a little."""
    study = crowded(UnfitPolicy.REJECT, gangs=True)
    ours = simulate_azure(first_hours, HOSTS, study).report
    pods = vm_pods(first_hours, study.lifetime, gangs=True)
    theirs = hosts.run_vms(HOSTS, pods, waiting=False)
    assert ours.placed == pytest.approx(theirs["placed"], rel=0.01)
    assert ours.mean_cpu_pct == pytest.approx(theirs["mean_cpu_pct"], rel=0.03)
    assert ours.placed + ours.rejected == len(first_hours)


def of_one_size(vms: tuple[AzureVm, ...]) -> tuple[AzureVm, ...]:
    """The VMs of batches whose members have one size; their order within a batch is irrelevant."""
    sizes: dict[str, set[tuple[int, int]]] = {}
    for vm in vms:
        sizes.setdefault(vm.batch_id, set()).add((vm.vcpu, vm.memory_mib))
    return tuple(vm for vm in vms if len(sizes[vm.batch_id]) == 1)


def a_vm(number: int, arrival: float, vcpu: int, life: float, batch: str = "b") -> AzureVm:
    return AzureVm(str(number), arrival, batch, vcpu, 1024, life, life, censored=False)


def test_a_vm_of_no_lifetime_counts_for_the_peak_alone() -> None:
    report = simulate_azure((a_vm(1, 0, 64, 0), a_vm(2, 0, 32, 10)), HOSTS[:2], AzureStudy()).report
    assert (report.placed, report.peak_cpu_pct, report.mean_cpu_pct) == (2, 75.0, 25.0)


def test_a_vm_that_fits_no_host_is_rejected_and_the_others_are_not() -> None:
    report = simulate_azure((a_vm(1, 0, 99, 5), a_vm(2, 1, 1, 5)), HOSTS, AzureStudy()).report
    assert (report.placed, report.rejected) == (1, 1)


def test_a_batch_starts_as_one_or_not_at_all() -> None:
    vms = tuple(a_vm(i, 0, 40, 5) for i in range(3))
    study = AzureStudy(unfit=UnfitPolicy.REJECT, gangs=True)
    assert simulate_azure(vms, HOSTS[:2], study).report.rejected == 3
    assert simulate_azure(vms, HOSTS[:3], study).report.placed == 3


def test_a_batch_of_unlike_vms_waits_until_it_fits_as_one() -> None:
    big = [a_vm(1, 0, 64, 100, "x"), a_vm(2, 0, 60, 50, "y")]
    mixed = [a_vm(3, 1, 30, 5, "z"), *(a_vm(i, 1, 1, 5, "z") for i in range(4, 24))]
    report = simulate_azure((*big, *mixed), HOSTS[:2], AzureStudy(gangs=True)).report
    assert (report.placed, report.mean_wait_s) == (23, pytest.approx(21 * 49 / 23))
