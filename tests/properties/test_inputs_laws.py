"""Laws for every seed and every input."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.names import is_dns_subdomain
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.objects.objects import object_name
from stretto.inputs.scenario.arrivals import numbered_units
from stretto.inputs.scenario.workloads import (
    Diurnal,
    diurnal_times,
    poisson_times,
    synthetic_nodes,
)
from stretto.inputs.traces.openb.protocol import protocol_input, typical_pods

PODS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 3), st.sampled_from([1, 500, 1000])),
    min_size=1,
    max_size=30,
).map(
    lambda rows: tuple(
        FleetPod(f"p-{i}", cpu, 1, gpus, 1000 if gpus > 1 else milli * bool(gpus))
        for i, (cpu, gpus, milli) in enumerate(rows)
    )
)


@given(pods=PODS, seed=st.integers(0, 10**6), percent=st.floats(1, 400))
def test_arrivals_never_pass_their_target_and_names_are_unique(
    pods: tuple[FleetPod, ...], seed: int, percent: float
) -> None:
    pods = (FleetPod("gpu", 1, 1, 1, 1000), *pods)
    fleet = Fleet((FleetNode("n", 1, 1, 16, "T4"),), pods)
    drawn = protocol_input(fleet, seed, percent)
    assert not len(drawn.arrivals) or drawn.arrived_pct[-1] <= percent + 1e-6
    assert len(set(drawn.names)) == len(drawn.arrivals)


@given(pods=PODS, share=st.floats(0.1, 1))
def test_typical_pods_cover_their_share_and_no_kind_too_many(
    pods: tuple[FleetPod, ...], share: float
) -> None:
    typical = typical_pods(pods, share)
    counts = Counter((p.cpu_milli, p.gpu_milli, p.gpus, p.gpu_models) for p in pods)
    covered = [count for _, count in counts.most_common(len(typical))]
    assert sum(covered) >= share * len(pods) - 1e-6
    assert sum(covered[:-1]) < share * len(pods)
    assert abs(typical.frequency.sum() - 1) < 1e-9


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=30))
def test_units_are_numbered_without_a_gap(groups: list[str]) -> None:
    numbers = numbered_units(groups)
    firsts = [number for first, number in numbers if first]
    assert firsts == list(range(len(firsts)))
    assert all(a[1] == b[1] for a, x in zip(numbers, groups, strict=True)
               for b, y in zip(numbers, groups, strict=True) if x and x == y)  # fmt: skip


@given(st.text(min_size=1, max_size=300))
def test_every_name_becomes_one_that_kubernetes_takes(name: str) -> None:
    assert is_dns_subdomain(object_name(name))


@given(count=st.integers(1, 400), zones=st.integers(1, 12), seed=st.integers(0, 99))
def test_zones_differ_by_one_node_at_most(count: int, zones: int, seed: int) -> None:
    zones = min(zones, count)
    sizes = Counter(node.zone for node in synthetic_nodes(count, Rng(seed), zones=zones))
    assert len(sizes) == zones
    assert max(sizes.values()) - min(sizes.values()) <= 1


@given(count=st.integers(0, 300), low=st.floats(0, 5), swing=st.floats(0, 5))
def test_arrivals_are_as_many_as_requested_and_in_order(
    count: int, low: float, swing: float
) -> None:
    rate = Diurnal(low, low + swing + 0.1, 100.0)
    for times in (diurnal_times(count, rate, Rng(1)), poisson_times(count, low + 1, Rng(1))):
        assert len(times) == count
        assert (times[1:] >= times[:-1]).all()
