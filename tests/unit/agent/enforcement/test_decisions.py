"""Decisions of the node agent: CPU of best-effort pods, evictions, CPU sets."""

import pytest

from stretto.agent.enforcement import cpusets, eviction, suppression
from stretto.agent.enforcement.cpusets import (
    BindPolicy,
    Cpu,
    CpuHolding,
    CpuRequest,
    CpuState,
    Exclusive,
    Order,
)
from stretto.agent.enforcement.eviction import ByteUnit, EvictablePod, RequestLimit, UseLimit
from stretto.agent.enforcement.suppression import CpuUse, EligibleCpus, Processor, Suppression
from stretto.base.errors import InputError
from stretto.capacity.model.classes import Band

GIB = 2**30
TOPOLOGY = tuple(Cpu(cpu, 0, 0, cpu // 2) for cpu in range(8))
WIDE = tuple(Cpu(cpu, cpu // 4, cpu // 4, cpu // 2) for cpu in range(12))
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


def test_pods_without_reclaimed_memory_count_by_their_plain_memory() -> None:
    pods = [EvictablePod("a", Band.FREE, requests={"memory": 9})]
    limit = RequestLimit(threshold=80, lower=50, priority=5999)
    assert limit.to_free(pods, {"memory": 10}) == {"memory": 4}


def test_negative_thresholds_free_nothing() -> None:
    assert UseLimit(threshold=-1, lower=-5).to_free(9.0, 10) == 0


def test_best_effort_pods_get_what_the_threshold_leaves() -> None:
    use = CpuUse(12.0, 10.0, 8.0, 0.0, 0.0, 0)
    assert suppression.allowance(20_000, use, Suppression(70)) == 4000


def test_cpus_stay_where_all_belong_to_exclusive_pods() -> None:
    assert suppression.cpus(4000, EligibleCpus((), ()), 4, 8) == ()


def test_a_pod_gets_whole_cores() -> None:
    assert cpusets.take(FREE, CpuRequest(4), frozenset()) == {0, 1, 2, 3}


def test_nodes_of_several_sockets_with_one_number_are_different_nodes() -> None:
    processors = tuple(Processor(cpu, cpu // 2, cpu // 4, 0) for cpu in range(8))
    eligible = EligibleCpus((), processors)
    assert suppression.cpus(4000, eligible, 4, 8) == (0, 1, 4, 5)


def test_the_larger_of_system_use_and_reservation_is_rounded_down_once() -> None:
    use = CpuUse(0.0, 0.0, 0.0, 0.0, 0.0, 1001)
    assert suppression.allowance(10_000, use, Suppression(100)) == 9_000


def test_a_node_that_an_exclusive_pod_has_taken_gives_single_cpus_last() -> None:
    state = CpuState(WIDE, frozenset({4, 5, 6, 8}))
    request = CpuRequest(3, exclusive=Exclusive.NUMA)
    assert cpusets.take(state, request, frozenset()) == {4, 5, 8}


def test_a_node_of_another_exclusive_pod_gives_single_cpus_last() -> None:
    held = {1: CpuHolding(1, Exclusive.NUMA)}
    state = CpuState(WIDE, frozenset({0, 5, 9}), held)
    request = CpuRequest(2, exclusive=Exclusive.NUMA)
    assert cpusets.take(state, request, frozenset()) == {5, 9}


def test_sockets_are_compared_by_free_cores_when_each_core_gives_one_cpu() -> None:
    topology = tuple(Cpu(cpu, cpu // 12, cpu // 4, cpu // 2) for cpu in range(24))
    state = CpuState(topology, frozenset({0, 2, 4, 6, 12, 13, 16, 17, 20}))
    request = CpuRequest(3, BindPolicy.SPREAD, order=Order.LEAST_ALLOCATED)
    assert cpusets.take(state, request, frozenset()) == {0, 2, 4}


def test_each_socket_left_over_gives_a_whole_core() -> None:
    topology = tuple(Cpu(cpu, cpu // 8, cpu // 8, cpu // 2) for cpu in range(24))
    free = frozenset(cpu for cpu in range(24) if cpu % 8 < 4)
    assert len(cpusets.take(CpuState(topology, free), CpuRequest(7), frozenset())) == 8


def test_too_few_cpus_are_an_error_that_counts_them() -> None:
    with pytest.raises(InputError, match="cpus"):
        cpusets.take(FREE, CpuRequest(9), frozenset())
