"""Plans that share one view of the capacity do not overfill a cluster."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.supply.capacity import ClusterCapacity, Promises, fitting
from stretto.federation.planner.supply.weights import dynamic_weights

AMOUNT = st.integers(0, 200_000)
WORKLOAD = st.tuples(st.integers(1, 60), st.integers(1, 8_000), st.integers(0, 4_000))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[ClusterCapacity, ...]:
    found = []
    for name in "abcde"[: draw(st.integers(1, 5))]:
        offers = {"cpu": draw(AMOUNT), "memory": draw(AMOUNT)}
        free = {key: draw(st.integers(-5, count)) for key, count in offers.items()}
        found.append(ClusterCapacity(name, offers, free))
    return tuple(found)


def planned(
    fleet: tuple[ClusterCapacity, ...], promises: Promises, name: str, shape: tuple[int, int, int]
) -> tuple[Promises, int]:
    """The promises after one more workload, and its replicas that fit nowhere."""
    replicas, cpu, memory = shape
    request = {"cpu": cpu, "memory": memory}
    seen = promises.without(name).deducted(fleet)
    weights = dynamic_weights(seen, request)
    clusters = tuple(
        DivisionCluster(each.name, weights[each.name], capacity=fitting(each.available, request))
        for each in seen
    )
    plan = divide(DivisionDemand(replicas, clusters, key=name))
    return promises.made(name, plan.placed, request), replicas - sum(plan.placed.values())


@given(fleets(), st.lists(WORKLOAD, min_size=20, max_size=20))
def test_twenty_simultaneous_workloads_do_not_overfill_a_cluster(
    fleet: tuple[ClusterCapacity, ...], workloads: list[tuple[int, int, int]]
) -> None:
    promises = Promises()
    for number, shape in enumerate(workloads):
        promises, _ = planned(fleet, promises, f"w{number}", shape)
    for before, after in zip(fleet, promises.deducted(fleet), strict=True):
        for name, count in after.available.items():
            assert count >= min(0, before.available[name])


@given(fleets(), WORKLOAD)
def test_a_workload_waits_only_if_no_cluster_has_headroom(
    fleet: tuple[ClusterCapacity, ...], shape: tuple[int, int, int]
) -> None:
    promises, waiting = planned(fleet, Promises(), "w", shape)
    if waiting:
        request = {"cpu": shape[1], "memory": shape[2]}
        left = promises.deducted(fleet)
        assert all(fitting(each.available, request) == 0 for each in left)
