"""Katalyst's alignment with NUMA nodes."""

import pytest
from msgspec.structs import replace

from stretto.capacity.headroom.readings import CoreLevel
from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.katalyst.numa.fit import Alignment, align
from stretto_lab.models.katalyst.numa.pods import AlignmentPolicy, NumaContainer, NumaPod
from stretto_lab.models.katalyst.numa.scoring import (
    NumaScoring,
    NumaStrategy,
    UndefinedScoreError,
    score,
)
from stretto_lab.models.katalyst.numa.zones import AlignedMachine, NumaZone, TopologyPolicy

ALIGNED = frozenset(("cpu",))


SMALL = NumaZone("0", {"cpu": 4_000}, {"cpu": 4_000})


LARGE = NumaZone("0", {"cpu": 8_000}, {"cpu": 8_000})


def pod(cores: int, **more: bool) -> NumaPod:
    return asking({"cpu": 1_000 * cores}, **more)


def asking(requests: dict[str, int], *, is_exclusive: bool = False) -> NumaPod:
    container = NumaContainer("main", requests)
    return NumaPod(
        "p", (container,), level=CoreLevel.DEDICATED, binds=True, is_exclusive=is_exclusive
    )


def machine(*zones: NumaZone, policy: str = "NumericContainerLevel") -> AlignedMachine:
    return AlignedMachine(zones, TopologyPolicy(policy))


def test_numa_nodes_of_different_size_are_counted_by_size_except_for_katalyst() -> None:
    used = NumaZone("0", SMALL.capacity, SMALL.allocatable, (("p", {"cpu": 1_000}),))
    wide = pod(8, is_exclusive=True)
    node = AlignedMachine((used, LARGE), TopologyPolicy.NUMERIC_CONTAINER, pods=(pod(1),))
    found = [
        align(node, wide, AlignmentPolicy.DYNAMIC, ALIGNED, profile)
        for profile in (CapacityProfile.STRETTO, CapacityProfile.KATALYST)
    ]
    assert found == [Alignment.FITS, Alignment.CONTAINER]


@pytest.mark.parametrize(("cores", "found"), [(4, Alignment.FITS), (5, Alignment.CONTAINER)])
def test_a_container_needs_one_numa_node(cores: int, found: Alignment) -> None:
    node = machine(SMALL, SMALL, policy="SingleNUMANodeContainerLevel")
    assert align(node, pod(cores), AlignmentPolicy.DYNAMIC, ALIGNED) is found


def test_pods_that_are_not_reported_yet_are_charged_to_every_numa_node() -> None:
    node = AlignedMachine((SMALL, SMALL), TopologyPolicy.SINGLE_CONTAINER, reserved=(pod(1),))
    assert align(node, pod(4), AlignmentPolicy.DYNAMIC, ALIGNED) is Alignment.CONTAINER


def test_pods_with_dedicated_cores_use_their_numa_node_without_binding() -> None:
    used = NumaZone("0", SMALL.capacity, SMALL.allocatable, (("p", {"cpu": 1_000}),))
    other = replace(pod(1), binds=False)
    node = AlignedMachine((used,), TopologyPolicy.SINGLE_CONTAINER, pods=(other,))
    assert align(node, pod(4), AlignmentPolicy.DYNAMIC, ALIGNED) is Alignment.CONTAINER


@pytest.mark.parametrize(("free", "points"), [(3_999, 0), (4_000, 100)])
def test_a_numa_node_with_a_part_of_the_last_core_scores_nothing(free: int, points: int) -> None:
    zone = NumaZone("0", {"cpu": free}, {"cpu": free})
    rules = NumaScoring(NumaStrategy.MOST, AlignmentPolicy.DYNAMIC, ALIGNED)
    assert score(machine(zone), pod(4), rules) == points


def test_an_extended_resource_that_no_numa_node_has_is_no_constraint() -> None:
    node = machine(SMALL, policy="SingleNUMANodeContainerLevel")
    found = [
        align(node, asking({"cpu": 1_000, name: 1}), AlignmentPolicy.DYNAMIC, ALIGNED)
        for name in ("example.com/nic", "kubernetes.io/nic", "nic")
    ]
    assert found == [Alignment.FITS, Alignment.CONTAINER, Alignment.CONTAINER]


def test_a_request_of_zero_excludes_used_numa_nodes_only_in_katalyst() -> None:
    used = NumaZone("0", {"cpu": 9, "gpu": 2}, {"cpu": 9, "gpu": 2}, (("p", {"gpu": 1}),))
    node = AlignedMachine((used,), TopologyPolicy.NUMERIC_CONTAINER, pods=(pod(1),))
    wanted, aligned = asking({"cpu": 1, "gpu": 0}, is_exclusive=True), frozenset(("cpu", "gpu"))
    found = [
        align(node, wanted, AlignmentPolicy.DYNAMIC, aligned, profile)
        for profile in (CapacityProfile.STRETTO, CapacityProfile.KATALYST)
    ]
    assert found == [Alignment.FITS, Alignment.CONTAINER]


def test_a_socket_of_katalyst_has_as_many_numa_nodes_as_the_mean() -> None:
    alone = NumaZone("1", SMALL.capacity, SMALL.allocatable)
    node = AlignedMachine(
        (NumaZone("0", SMALL.capacity, SMALL.allocatable, (("p", {"cpu": 1}),)), SMALL, alone),
        TopologyPolicy.NUMERIC_CONTAINER,
        pods=(pod(1),),
    )
    wide = pod(8, is_exclusive=True)
    found = [
        align(node, wide, AlignmentPolicy.DYNAMIC, ALIGNED, profile)
        for profile in (CapacityProfile.STRETTO, CapacityProfile.KATALYST)
    ]
    assert found == [Alignment.CONTAINER, Alignment.FITS]


def test_a_request_of_zero_is_scored_on_every_numa_node() -> None:
    zone = NumaZone("0", {"cpu": 9, "gpu": 2}, {"cpu": 9, "gpu": 2})
    rules = NumaScoring(NumaStrategy.LEAST, AlignmentPolicy.DYNAMIC, frozenset(("gpu",)))
    assert score(machine(zone), asking({"cpu": 1, "gpu": 0}, is_exclusive=True), rules) == 100


@pytest.mark.parametrize("strategy", NumaStrategy)
def test_containers_without_aligned_resources_do_not_lower_the_score(
    strategy: NumaStrategy,
) -> None:
    rules = NumaScoring(strategy, AlignmentPolicy.DYNAMIC, frozenset(("gpu",)))
    assert score(machine(SMALL), pod(1), rules) == 100


def test_katalyst_has_no_score_for_them() -> None:
    rules = NumaScoring(
        NumaStrategy.MOST,
        AlignmentPolicy.DYNAMIC,
        frozenset(("gpu",)),
        profile=CapacityProfile.KATALYST,
    )
    with pytest.raises(UndefinedScoreError):
        score(machine(SMALL), pod(1), rules)
