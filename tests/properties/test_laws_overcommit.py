"""The laws of overcommit, over random pools, situations and claims."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.capacity.headroom.cpu import CpuContainer, cpu_headroom
from stretto.capacity.headroom.readings import CoreLevel
from stretto.capacity.overcommit.shrinking import PromisedPod, ShrinkStep, shrink
from stretto.framework.profile.capacity.overcommit import NodeScenario, OvercommitPool, ScenarioRow
from stretto.state.rows.promises import amplified

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
PODS = st.lists(
    st.builds(
        PromisedPod,
        name=st.text("abc", min_size=1, max_size=3),
        level=st.sampled_from(CoreLevel),
        request=st.integers(0, 50),
        usage=st.integers(0, 80),
    ),
    max_size=8,
    unique_by=lambda pod: pod.name,
)


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


@given(st.integers(0, 200), st.integers(0, 100), PODS)
def test_shrinking_evicts_no_production_pod_for_best_effort(
    capacity: int, real: int, pods: list[PromisedPod]
) -> None:
    plan = shrink(capacity, real, pods)
    owned = {pod.name for pod in pods if pod.level is not CoreLevel.RECLAIMED}
    use = sum(pod.usage for pod in pods if pod.name in owned)
    if use <= real:
        assert not owned & set(plan.evicted)
    assert not owned & set(plan.throttled)


@given(st.integers(0, 200), st.integers(0, 100), PODS)
def test_a_promise_that_is_not_used_is_never_revoked(
    capacity: int, real: int, pods: list[PromisedPod]
) -> None:
    plan = shrink(capacity, real, pods)
    if sum(pod.usage for pod in pods) <= real:
        assert plan.step in (ShrinkStep.NONE, ShrinkStep.CLOSED)
        assert (plan.throttled, plan.evicted) == ((), ())
    within = {pod.name for pod in pods if pod.usage <= pod.request}
    reclaimed = {pod.name for pod in pods if pod.level is CoreLevel.RECLAIMED}
    assert not (within - reclaimed) & set(plan.evicted)
