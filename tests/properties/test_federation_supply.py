"""Plans that share one view of the capacity do not overfill a cluster."""

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.supply.weights import weights_of
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.supply import SupplyTable

AMOUNT = st.integers(0, 200_000)
WORKLOAD = st.tuples(st.integers(1, 60), st.integers(1, 8_000), st.integers(0, 4_000))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[MemberCluster, ...]:
    found = []
    for name in "abcde"[: draw(st.integers(1, 5))]:
        offers = {"cpu": draw(AMOUNT), "memory": draw(AMOUNT)}
        free = {key: draw(st.integers(-5, count)) for key, count in offers.items()}
        found.append(MemberCluster(name, allocatable=offers, available=free))
    return tuple(found)


def promised(table: SupplyTable, name: str, shape: tuple[int, int, int]) -> npt.NDArray[np.int64]:
    """Promise the replicas of one more workload; return those of each cluster."""
    replicas, cpu, memory = shape
    request, at = {"cpu": cpu, "memory": memory}, np.arange(len(table.members))
    free, total = table.in_free(at, request), table.in_total(at, request)
    assert free is not None
    assert total is not None
    weights = weights_of(free.tolist(), total.tolist())
    clusters = tuple(
        DivisionCluster(each.name, weight, capacity=fits)
        for each, weight, fits in zip(table.members, weights, free.tolist(), strict=True)
    )
    placed = divide(DivisionDemand(replicas, clusters, key=name)).placed
    counts = np.array([placed[each.name] for each in table.members], np.int64)
    table.promise(at, counts, request)
    return counts


@given(fleets(), st.lists(WORKLOAD, min_size=20, max_size=20))
def test_twenty_simultaneous_workloads_do_not_overfill_a_cluster(
    fleet: tuple[MemberCluster, ...], workloads: list[tuple[int, int, int]]
) -> None:
    table = SupplyTable(fleet)
    started = [promised(table, f"w{number}", shape) for number, shape in enumerate(workloads)]
    for place, resource in enumerate(("cpu", "memory"), start=1):
        sizes = [shape[place] for shape in workloads]
        used = sum(counts * size for counts, size in zip(started, sizes, strict=True))
        assert all(used <= [max(each.available[resource], 0) for each in fleet])


@given(fleets(), WORKLOAD)
def test_a_workload_waits_only_if_no_cluster_has_headroom(
    fleet: tuple[MemberCluster, ...], shape: tuple[int, int, int]
) -> None:
    table = SupplyTable(fleet)
    if promised(table, "w", shape).sum() < shape[0]:
        left = table.in_free(np.arange(len(fleet)), {"cpu": shape[1], "memory": shape[2]})
        assert left is not None
        assert not left.any()
