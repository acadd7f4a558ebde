"""Headroom of CPU and memory, and what of it is published."""

import pytest
from msgspec.structs import replace

from stretto.capacity.headroom.cpu import CpuContainer, cpu_headroom
from stretto.capacity.headroom.memory import (
    GIB,
    HeadroomLimits,
    MemoryBuffer,
    MemorySystem,
    memory_headroom,
)
from stretto.capacity.headroom.numa_memory import NumaReserve, OversoldLimit, numa_memory_headroom
from stretto.capacity.headroom.published import publish
from stretto.capacity.headroom.readings import (
    CoreLevel,
    HeadroomError,
    MemoryContainer,
    NumaMemory,
)
from stretto.capacity.headroom.utilisation import (
    UtilisationTargets,
    reclaimed_supply,
    utilisation_headroom,
)
from stretto.capacity.model.profiles import CapacityProfile

FULL = NumaMemory(free=0.0, inactive_file=0.0, total=16.0 * GIB)
EMPTY = NumaMemory(free=8.0 * GIB, inactive_file=0.0, total=16.0 * GIB)
SYSTEM = MemorySystem(32.0 * GIB, 8.0 * GIB, 8.0 * GIB, 10.0, 128, 32.0 * GIB)
LIMITS = HeadroomLimits(32.0 * GIB)
OWNED = MemoryContainer("a/a", CoreLevel.SHARED, rss=10.0 * GIB, numas=(0,))
RESERVE = NumaReserve(0.0, 0.0, 0.0, 0.0)


def test_containers_without_use_and_request_are_expected_to_need_four_cores() -> None:
    assert cpu_headroom(16, [CpuContainer(0)]) == 12
    assert cpu_headroom(16, [CpuContainer(8, use=4)], reserved_for_allocate=1) == 10


def test_lower_use_never_lowers_the_cpu_headroom() -> None:
    found = [cpu_headroom(16, [CpuContainer(8, use=use / 4)]) for use in range(1, 40)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    ("use", "last", "targets", "milli"),
    [
        (0, 10, UtilisationTargets(0.6, 0.0, 1.2), 12_000),
        (9, 15, UtilisationTargets(0.6, 0.8, 1.5), 14_000),
        (0, 10, UtilisationTargets(0.6, 0.0, 1.2, capacity=3), 3_000),
    ],
)
def test_headroom_grows_while_loaned_cores_are_idle_and_shrinks_while_they_are_busy(
    use: float, last: float, targets: UtilisationTargets, milli: int
) -> None:
    assert utilisation_headroom(10, use, last, targets) == milli


def test_the_supply_is_bounded_by_the_quota_of_the_reclaimed_tree() -> None:
    assert reclaimed_supply([0.5, 0.5], 1.0) == 2.0
    assert reclaimed_supply([0.5, 0.5], 1.0, quota=1.5) == 1.5


def test_without_freeable_memory_the_split_follows_the_size_of_numa_nodes() -> None:
    loan = memory_headroom([OWNED], [FULL, FULL], SYSTEM, LIMITS, None)
    assert loan.split([FULL, FULL]) == {0: loan.total / 2, 1: loan.total / 2}
    assert str(loan.split([FULL, FULL], CapacityProfile.KATALYST)) == "{0: nan, 1: nan}"


def test_memory_is_loaned_where_it_is_free() -> None:
    loan = memory_headroom([OWNED], [FULL, EMPTY], SYSTEM, LIMITS, None)
    assert loan.split([FULL, EMPTY]) == {0: 0.0, 1: pytest.approx(21.0 * GIB)}


def test_an_owner_that_does_not_lend_keeps_its_numa_nodes() -> None:
    owner = MemoryContainer("a/a", CoreLevel.DEDICATED, numas=(1,), is_exclusive=True)
    reserve = NumaReserve(0.0, 0.0, 0.0, 0.0, lends_exclusive=False)
    assert numa_memory_headroom([owner], [EMPTY, EMPTY], reserve) == {0: 8.0 * GIB}


def test_it_is_an_error_if_the_numa_nodes_of_a_container_are_unknown() -> None:
    reserve = NumaReserve(0.0, 0.0, 0.0, 0.0, lends_exclusive=False)
    with pytest.raises(HeadroomError, match="container a/a has no NUMA nodes"):
        numa_memory_headroom([MemoryContainer("a/a", CoreLevel.SHARED)], [EMPTY], reserve)


def test_a_failed_binding_counts_as_unbound_except_for_katalyst() -> None:
    pod = MemoryContainer("a/a", CoreLevel.RECLAIMED, bound_to=-1)
    limit = OversoldLimit(1.0, 4.0 * GIB, (0.0,))
    assert numa_memory_headroom([pod], [EMPTY], RESERVE, limit) == {0: 4.0 * GIB}
    with pytest.raises(HeadroomError, match="NUMA node -1"):
        numa_memory_headroom([pod], [EMPTY], RESERVE, limit, CapacityProfile.KATALYST)


def test_reclaimed_memory_is_loaned_where_it_is_and_an_unknown_place_is_an_error() -> None:
    pod = MemoryContainer("a/a", CoreLevel.RECLAIMED, numas=(0, 1), numa_memory={0: GIB, 1: GIB})
    loan = memory_headroom([pod], [FULL, EMPTY], SYSTEM, LIMITS, None)
    assert loan.freeable == {0: GIB, 1: 9.0 * GIB}
    with pytest.raises(HeadroomError, match="memory on NUMA node 2 for container a/a"):
        memory_headroom([replace(pod, numas=(2,))], [FULL, EMPTY], SYSTEM, LIMITS, None)


def test_an_exclusive_container_on_an_unknown_numa_node_is_an_error() -> None:
    owner = MemoryContainer("a/a", CoreLevel.DEDICATED, numas=(4,), is_exclusive=True)
    limits = HeadroomLimits(32.0 * GIB, lends=False)
    with pytest.raises(HeadroomError, match="a/a is on NUMA node 4, which the machine does not"):
        memory_headroom([owner], [EMPTY], SYSTEM, limits, None)


def test_a_machine_without_memory_has_no_buffer() -> None:
    with pytest.raises(HeadroomError, match="the machine reports no memory"):
        memory_headroom([], [EMPTY], replace(SYSTEM, capacity=0.0), LIMITS, MemoryBuffer())


def test_a_binding_to_an_unknown_numa_node_has_no_limit() -> None:
    pod = MemoryContainer("a/a", CoreLevel.RECLAIMED, bound_to=1)
    limit = OversoldLimit(1.0, 4.0 * GIB, (0.0,))
    with pytest.raises(HeadroomError, match="no limit of the cgroup of NUMA node 1"):
        numa_memory_headroom([pod], [EMPTY], RESERVE, limit)


def test_memory_that_is_measured_as_zero_is_not_the_request() -> None:
    pod = MemoryContainer("a/a", CoreLevel.SHARED, request=4.0 * GIB)
    reserve = replace(RESERVE, request_ratio=1.0)
    other = MemoryContainer("b/b", CoreLevel.SHARED, request=4.0 * GIB, usage=4.0 * GIB)
    found = [
        numa_memory_headroom([each, other], [EMPTY], reserve)[0]
        for each in (pod, replace(pod, usage=0.0))
    ]
    assert found == [8.0 * GIB, 0.0]


@pytest.mark.parametrize("profile", [CapacityProfile.STRETTO, CapacityProfile.KATALYST])
def test_a_numa_node_with_too_little_of_a_resource_publishes_nothing(
    profile: CapacityProfile,
) -> None:
    numas = [{"cpu": 1, "memory": 9}, {"cpu": 5, "memory": 9}]
    found = publish({"cpu": 6, "memory": 18}, numas, {"cpu": 2}, profile)
    assert found.node == {"cpu": 5, "memory": 9}
    assert found.numas[0] == {"cpu": 0, "memory": 0}


@pytest.mark.parametrize(
    ("profile", "left"), [(CapacityProfile.STRETTO, 0), (CapacityProfile.KATALYST, 5)]
)
def test_a_node_that_publishes_nothing_has_no_numa_node_that_does(
    profile: CapacityProfile, left: int
) -> None:
    found = publish({"cpu": 1}, [{"cpu": 5}], {"cpu": 2}, profile)
    assert (found.node, found.numas) == ({"cpu": 0}, ({"cpu": left},))
