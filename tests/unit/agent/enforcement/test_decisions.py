"""Decisions of the node agent: CPU of best-effort pods, evictions, CPU sets."""

import pytest

from stretto.agent.enforcement import cpusets, eviction, suppression
from stretto.agent.enforcement.cpusets import Cpu, CpuRequest, CpuState
from stretto.agent.enforcement.eviction import ByteUnit, EvictablePod
from stretto.agent.enforcement.suppression import CpuUse, EligibleCpus, Suppression
from stretto.base.errors import InputError
from stretto.capacity.model.classes import Band

GIB = 2**30
TOPOLOGY = tuple(Cpu(cpu, 0, 0, cpu // 2) for cpu in range(8))
FREE = CpuState(TOPOLOGY, frozenset(range(8)))


def evicted(unit: ByteUnit) -> list[str]:
    pods = [
        EvictablePod(f"p{index}", Band.BATCH, enabled=True, used=float(GIB)) for index in range(3)
    ]
    gone: list[str] = []
    attempt = lambda name, _: gone.append(name) or True
    eviction.evict([eviction.memory_round(pods, 5999, 2 * GIB, unit)], attempt)
    return gone


@pytest.mark.parametrize(
    ("unit", "pods"), [(ByteUnit.BYTES, ["p0", "p1"]), (ByteUnit.THOUSANDTHS, ["p0"])]
)
def test_pods_are_evicted_until_enough_bytes_are_free(unit: ByteUnit, pods: list[str]) -> None:
    assert evicted(unit) == pods


def test_an_eviction_that_fails_frees_nothing() -> None:
    pods = [EvictablePod(name, Band.BATCH, enabled=True, used=float(GIB)) for name in "ab"]
    tried: list[str] = []

    def attempt(name: str, _: eviction.Trigger) -> bool:
        tried.append(name)
        return name == "b"

    eviction.evict([eviction.memory_round(pods, 5999, GIB)], attempt)
    assert tried == ["a", "b"]


def test_best_effort_pods_get_what_the_threshold_leaves() -> None:
    use = CpuUse(12.0, 10.0, 8.0, 0.0, 0.0, 0)
    assert suppression.allowance(20_000, use, Suppression(70)) == 4000


def test_cpus_stay_where_all_belong_to_exclusive_pods() -> None:
    assert suppression.cpus(4000, EligibleCpus((), ()), 4, 8) == ()


def test_a_pod_gets_whole_cores() -> None:
    assert cpusets.take(FREE, CpuRequest(4), frozenset()) == {0, 1, 2, 3}


def test_too_few_cpus_are_an_error_that_counts_them() -> None:
    with pytest.raises(InputError, match="cpus"):
        cpusets.take(FREE, CpuRequest(9), frozenset())
