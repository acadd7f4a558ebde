"""Decisions of the node agent: CPU of best-effort pods, evictions."""

from stretto.agent.enforcement import eviction, suppression
from stretto.agent.enforcement.eviction import EvictablePod, UseLimit
from stretto.agent.enforcement.suppression import CpuUse, EligibleCpus, Processor, Suppression

GIB = 2**30


def test_pods_are_evicted_until_enough_bytes_are_free() -> None:
    pods = [EvictablePod(f"p{index}", used=float(GIB)) for index in range(3)]
    assert list(eviction.victims(pods, 2 * GIB)) == ["p0", "p1"]


def test_pods_of_low_priority_and_then_of_large_use_are_evicted_first() -> None:
    pods = [EvictablePod("a", 9, 7.0), EvictablePod("b", 1, 2.0), EvictablePod("c", 1, 3.0)]
    assert list(eviction.victims(pods, 6)) == ["c", "b", "a"]


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
