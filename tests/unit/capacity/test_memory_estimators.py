"""Katalyst's memory headrooms as estimators: amounts by NUMA node, and readings that cannot be."""

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stretto.base.errors import InputError
from stretto.capacity.headroom.readings import CoreLevel, MemoryContainer, NumaMemory
from stretto.capacity.reclaim.estimators import estimator
from stretto.capacity.reclaim.memory import NOT_READ
from stretto.capacity.reclaim.reading import HeadroomEstimate, HeadroomReading, NodeMemory, OwnerPod
from stretto.framework.profile.capacity.reclaim import (
    Estimator,
    MemoryEstimator,
    MemoryRules,
    ReclaimRules,
    read_reclaim,
)

GIB = 1 << 30
KATALYST = (MemoryEstimator.CANONICAL, MemoryEstimator.NUMA_AWARE)
NUMAS = {
    0: NumaMemory(12.0 * GIB, 0.0, 32.0 * GIB),
    1: NumaMemory(20.0 * GIB, 0.0, 32.0 * GIB),
}
WEB = MemoryContainer(
    "d/web", CoreLevel.SHARED, 16.0 * GIB, rss=8.0 * GIB, cache=2.0 * GIB, usage=10.0 * GIB
)
BATCH = MemoryContainer("d/batch", CoreLevel.RECLAIMED, 4.0 * GIB, usage=2.0 * GIB, numas=(1,))
MEMORY = NodeMemory(NUMAS, (WEB,), 32.0 * GIB, 10.0)


def estimate(kind: MemoryEstimator, memory: NodeMemory | None, **rules: Any) -> HeadroomEstimate:
    """The headroom of a node with 16 cores and 64 GiB, of which one pod uses 10 and others 2."""
    pods = (OwnerPod("web", (4000, 16 * GIB), (1000, 10 * GIB), 9000.0),)
    reading = HeadroomReading((16_000, 64 * GIB), (1000, 12 * GIB), (0, 0), pods, 0.0, memory)
    made = ReclaimRules(Estimator.BATCH, memory=MemoryRules(kind, **rules))
    return estimator(made).estimate(reading)


def gib(found: HeadroomEstimate) -> dict[int, float]:
    return {number: round(each / GIB, 3) for number, each in found.numa_memory.items()}


def test_canonical_reclaims_what_neither_pods_nor_the_system_need_where_it_is_free() -> None:
    found = estimate(MemoryEstimator.CANONICAL, MEMORY)
    assert gib(found) == {0: 51 * 12 / 32, 1: 51 * 20 / 32}
    assert found.memory == pytest.approx(51 * GIB)


def test_canonical_adds_a_part_of_the_free_memory_above_the_watermark() -> None:
    found = estimate(MemoryEstimator.CANONICAL, MEMORY, free_share=0.5, reserved_gib=10.0)
    assert found.memory / GIB == pytest.approx(41 + 16 - 2 * 0.064 - (13 - 10), abs=1e-3)


def test_canonical_adds_a_part_of_the_caches_of_a_node_with_many_cores_per_gib() -> None:
    cached = estimate(MemoryEstimator.CANONICAL, MEMORY, cache_share=0.1)
    other = estimate(MemoryEstimator.CANONICAL, MEMORY, cache_share=0.1, cores_per_gib=(0.3, 1.0))
    assert (cached.memory - other.memory) / GIB == pytest.approx(0.1 * (64 - 12 - 32))


def test_numa_aware_keeps_the_watermark_and_a_part_of_unused_requests() -> None:
    found = estimate(MemoryEstimator.NUMA_AWARE, MEMORY)
    free = 32 - 0.064 - 32 * 1.6 / 10
    assert gib(found) == {0: round(free * 12 / 32, 3), 1: round(free * 20 / 32, 3)}


def test_numa_aware_counts_reclaimed_requests_on_their_numa_node_and_not_beyond_the_limit() -> None:
    memory = MEMORY._replace(pods=(BATCH,), limit=16.0 * GIB)
    assert gib(estimate(MemoryEstimator.NUMA_AWARE, memory, oversold_rate=1.5)) == {0: 12, 1: 12}
    bound = memory._replace(pods=(replace(BATCH, bound_to=1),), numa_limits={1: 2.0 * GIB})
    assert gib(estimate(MemoryEstimator.NUMA_AWARE, bound, oversold_rate=1.5))[1] == 3


@pytest.mark.parametrize("kind", KATALYST)
def test_the_numa_node_of_an_exclusive_pod_is_not_reclaimed(kind: MemoryEstimator) -> None:
    owner = replace(
        WEB, level=CoreLevel.DEDICATED, is_exclusive=True, keeps_request=True, numas=(0,)
    )
    assert estimate(kind, MEMORY._replace(pods=(owner,))).numa_memory[0] == 0


def test_cpu_and_memory_come_from_different_estimators() -> None:
    found = estimate(MemoryEstimator.CANONICAL, MEMORY)
    assert found.cpu == estimate(MemoryEstimator.SAME, None).cpu > 0
    assert found.memory != estimate(MemoryEstimator.SAME, None).memory


def test_a_share_of_the_free_memory_is_an_estimator_of_its_own() -> None:
    assert estimate(MemoryEstimator.FREE, None).memory == int(0.6 * 52 * GIB)


@pytest.mark.parametrize("kind", KATALYST)
def test_memory_that_was_not_read_in_detail_is_not_reclaimed(kind: MemoryEstimator) -> None:
    found = estimate(kind, None)
    assert (found.memory, found.ignored, found.cpu > 0) == (0, (NOT_READ,), True)


@pytest.mark.parametrize("kind", KATALYST)
def test_numa_nodes_keep_their_numbers(kind: MemoryEstimator) -> None:
    memory = MEMORY._replace(numas={0: NUMAS[0], 8: NUMAS[1]}, pods=(replace(BATCH, numas=(8,)),))
    found = estimate(kind, memory)
    assert (list(found.numa_memory), found.ignored) == ([0, 8], ())


@pytest.mark.parametrize("kind", KATALYST)
@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (MEMORY._replace(pods=(replace(BATCH, numas=(1, 5)),)), "d/batch: NUMA node 5 is not on"),
        (MEMORY._replace(pods=(replace(BATCH, bound_to=-3),)), "d/batch: NUMA node -3 is not on"),
        (MEMORY._replace(pods=(replace(WEB, rss=-1.0),)), "d/web: rss: got -1.0, expected bytes"),
        (MEMORY._replace(pods=(replace(WEB, usage=nan),)), "d/web: usage: got nan"),
        (MEMORY._replace(free=inf), "free memory of the node: got inf"),
        (MEMORY._replace(numas=NUMAS | {1: NumaMemory(9.0, 0.0, 8.0)}), "NUMA node 1: got 9 free"),
        (MEMORY._replace(missing=("NUMA node 1: no meminfo",)), "NUMA node 1: no meminfo"),
    ],
)
def test_a_reading_that_cannot_be_is_ignored_and_named(
    kind: MemoryEstimator, memory: NodeMemory, said: str
) -> None:
    found = estimate(kind, memory)
    assert found.memory > 0
    assert [each for each in found.ignored if said in each] == list(found.ignored)


def test_a_pod_whose_memory_cannot_be_keeps_its_request() -> None:
    memory = MEMORY._replace(pods=(replace(WEB, rss=nan),))
    assert estimate(MemoryEstimator.CANONICAL, memory).memory == pytest.approx(46 * GIB)


@pytest.mark.parametrize("kind", KATALYST)
def test_a_machine_without_a_readable_numa_node_reclaims_nothing(kind: MemoryEstimator) -> None:
    found = estimate(kind, MEMORY._replace(numas={}))
    assert (found.memory, found.numa_memory) == (0, {})


ANY = st.floats() | st.sampled_from([0.0, float(GIB), 64.0 * GIB])
NUMBER = st.integers(-2, 4)
PODS = st.builds(
    MemoryContainer,
    st.just("d/p"),
    st.sampled_from(CoreLevel),
    request=ANY,
    rss=ANY,
    cache=ANY,
    shmem=ANY,
    usage=ANY | st.none(),
    numas=st.lists(NUMBER, max_size=3).map(tuple),
    numa_memory=st.dictionaries(NUMBER, ANY, max_size=3),
    bound_to=NUMBER | st.none(),
    is_exclusive=st.booleans(),
    keeps_request=st.booleans(),
)


@pytest.mark.parametrize("kind", KATALYST)
@given(
    numas=st.dictionaries(st.integers(0, 3), st.builds(NumaMemory, ANY, ANY, ANY), max_size=3),
    pods=st.lists(PODS, max_size=4),
    free=ANY,
)
def test_no_reading_stops_an_estimate_or_makes_it_negative(
    kind: MemoryEstimator,
    numas: dict[int, NumaMemory],
    pods: list[MemoryContainer],
    free: float,
) -> None:
    found = estimate(kind, NodeMemory(numas, tuple(pods), free, 10.0), cache_share=0.5)
    assert found.memory == sum(found.numa_memory.values())
    assert all(0 <= each <= 64 * GIB for each in found.numa_memory.values())


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"estimator": "canonic"}, "numa-aware"),
        ({"cacheShare": 1.5}, r"reclaim\.memory\.cacheShare: got 1\.5"),
        ({"coresPerGib": [0.5, 0.2]}, r"reclaim\.memory\.coresPerGib\[1\]: got 0\.2"),
        ({"free": 1}, "unknown field"),
    ],
)
def test_invalid_settings_of_memory_are_refused_with_their_path(form: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_reclaim({"memory": form}, "reclaim")
