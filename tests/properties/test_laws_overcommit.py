"""The laws of overcommit, over random pools, situations and claims."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import NODE_OVERCOMMIT_CONFIG
from stretto.capacity.headroom.cpu import CpuContainer, cpu_headroom
from stretto.framework.profile.capacity.overcommit import (
    POOL_LABEL,
    NodeScenario,
    OvercommitPool,
    ScenarioRow,
)
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.promises import amplified
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_node, make_pod

RATIOS = st.floats(1.0, 10.0)
AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), RATIOS)
SCENARIOS = st.builds(
    NodeScenario,
    environment=st.sampled_from(["prod", "test"]),
    hour=st.integers(0, 23),
    load=st.floats(0, 1),
    service_class=st.sampled_from(["", "cache"]),
)
ROWS = st.builds(
    ScenarioRow,
    ratios=AMOUNTS,
    environments=st.sampled_from([(), ("test",)]),
    hours=st.sampled_from([(), (0, 8), (22, 6)]),
    below_load=st.floats(0, 1),
)
POOLS = st.builds(
    OvercommitPool,
    caps=AMOUNTS,
    static=AMOUNTS,
    scenarios=st.lists(ROWS, max_size=3).map(tuple),
    memory_environments=st.sampled_from([(), ("test",)]),
)
MEASURED = st.none() | AMOUNTS
STEPS = st.tuples(st.sampled_from([1.0, 1.5, 2.0, 3.0]), st.integers(0, 6))


def overcommitted_node() -> Harness:
    """Return one node of two cores whose ratio the test sets, up to 3."""
    pools = {"online": {"caps": {"cpu": 3}, "measured": False}}
    profile = load_profile({"profiles": [{"stretto": {"overcommit": {"pools": pools}}}]})
    node = make_node("n", cpu="2", labels={POOL_LABEL: "online"})
    return Harness([node], profile=profile, config={"tier": "numpy"})


def ratio_of_the_node(name: str, ratio: float) -> bytes:
    spec = {"nodeOvercommitSelectorVal": "online", "resourceOvercommitRatio": {"cpu": str(ratio)}}
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


@given(POOLS, SCENARIOS, MEASURED)
def test_a_ratio_is_at_least_one_and_at_most_the_cap(
    pool: OvercommitPool, scenario: NodeScenario, measured: dict[str, float] | None
) -> None:
    for resource in ("cpu", "memory"):
        ratio = pool.choose(resource, scenario, measured).ratio
        assert 1.0 <= ratio <= pool.caps.get(resource, 1.0)


@given(POOLS, SCENARIOS, MEASURED)
def test_memory_is_overcommitted_only_where_the_environment_allows_it(
    pool: OvercommitPool, scenario: NodeScenario, measured: dict[str, float] | None
) -> None:
    if scenario.environment not in pool.memory_environments:
        assert pool.choose("memory", scenario, measured).ratio == 1.0


@given(POOLS, SCENARIOS, st.lists(st.integers(1, 40), max_size=40), st.lists(MEASURED, min_size=1))
def test_claims_in_any_order_never_pass_the_cap_while_ratios_change(
    pool: OvercommitPool,
    scenario: NodeScenario,
    requests: list[int],
    readings: list[dict[str, float] | None],
) -> None:
    promised = 0
    for number, request in enumerate(requests):
        ratio = pool.choose("cpu", scenario, readings[number % len(readings)]).ratio
        if promised + request <= amplified(100, 0, ratio):
            promised += request
        assert promised <= pool.caps.get("cpu", 1.0) * 100


@given(st.integers(0, 100), RATIOS)
def test_dedicated_cores_are_never_amplified(dedicated: int, ratio: float) -> None:
    capacity = amplified(100, dedicated, ratio)
    assert capacity - dedicated <= (100 - dedicated) * ratio
    assert amplified(100, 100, ratio) == 100


@given(st.lists(st.tuples(st.floats(0, 16), st.floats(0.1, 16)), max_size=6), st.floats(0.1, 1))
def test_lower_use_never_lowers_headroom(
    containers: list[tuple[float, float]], part: float
) -> None:
    busy = [CpuContainer(request, use=use) for request, use in containers]
    calm = [CpuContainer(request, use=use * part) for request, use in containers]
    assert cpu_headroom(64, calm) >= cpu_headroom(64, busy)


@settings(max_examples=25, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=8))
def test_a_smaller_ratio_stops_new_pods_and_moves_none(steps: list[tuple[float, int]]) -> None:
    at, kept = overcommitted_node(), set[str]()
    for number, (ratio, pods) in enumerate(steps):
        at.create(NODE_OVERCOMMIT_CONFIG, ratio_of_the_node(f"c{number}", ratio))
        at.submit(*[make_pod(f"p{number}-{i}", cpu="500m") for i in range(pods)])
        at.settle()
        bound = {name for name, node in at.placements().items() if node}
        assert kept <= bound
        assert bound == kept or 500 * len(bound) <= int(2_000 * ratio)
        kept = bound
        at.store.delete(NODE_OVERCOMMIT_CONFIG, [Deletion("", f"c{number}")])
