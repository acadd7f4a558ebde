"""Decisions of the node agent: CPU of best-effort pods, evictions, CPU sets."""

import pytest

from stretto.agent.enforcement import eviction, suppression
from stretto.agent.enforcement.eviction import ByteUnit, EvictablePod, RequestLimit, UseLimit
from stretto.agent.enforcement.suppression import CpuUse, EligibleCpus, Processor, Suppression
from stretto.capacity.model.classes import Band

GIB = 2**30


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


def test_nodes_of_several_sockets_with_one_number_are_different_nodes() -> None:
    processors = tuple(Processor(cpu, cpu // 2, cpu // 4, 0) for cpu in range(8))
    eligible = EligibleCpus((), processors)
    assert suppression.cpus(4000, eligible, 4, 8) == (0, 1, 4, 5)


def test_the_larger_of_system_use_and_reservation_is_rounded_down_once() -> None:
    use = CpuUse(0.0, 0.0, 0.0, 0.0, 0.0, 1001)
    assert suppression.allowance(10_000, use, Suppression(100)) == 9_000
