"""Policies of queues over random work: exact, fair, no delayed head, no starved unit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.inputs.traces.philly import PhillyJob
from stretto.sim.traces.philly import replay_jobs
from stretto.state.queues.shape import SiblingPolicy
from stretto.testing import Harness, make_node, make_pod
from tests.support.references import pool

pytestmark = pytest.mark.timeout(240)

GPUS = 6
JOBS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, GPUS), st.integers(0, 30)), min_size=1, max_size=25
).map(
    lambda rows: [
        PhillyJob(str(i), start / 2, gpus, length / 5)
        for i, (start, gpus, length) in enumerate(rows)
    ]
)
REQUESTS = st.tuples(st.integers(1, 6), st.integers(1, 6))


def starts_of(jobs: list[PhillyJob], policy: str) -> dict[int, int]:
    fitting, record = replay_jobs(jobs, GPUS, policy)
    owner = [int(job.job_id) for job in fitting for _ in range(job.gpus)]
    return dict(zip(owner, record.started.tolist(), strict=True))


@pytest.mark.parametrize("policy", ["fifo", "sjf", "skip", "easy"])
@settings(max_examples=25)
@given(jobs=JOBS)
def test_every_job_starts_and_when_a_plain_queue_starts_it(
    policy: str, jobs: list[PhillyJob]
) -> None:
    theirs = {each.job.number: each.at for each in pool.starts(jobs, GPUS, policy)}
    assert len(theirs) == len(jobs)
    assert starts_of(jobs, policy) == theirs


@settings(max_examples=25)
@given(jobs=JOBS)
def test_conservative_backfill_starts_every_job_when_a_plain_timetable_does(
    jobs: list[PhillyJob],
) -> None:
    """Jobs last at least one tick: two jobs without length share one instant in the reference."""
    longer = [PhillyJob(j.job_id, j.submit_s, j.gpus, max(j.duration_s, 0.1)) for j in jobs]
    theirs = {each.job.number: each.at for each in pool.starts(longer, GPUS, "conservative")}
    assert starts_of(longer, "conservative") == theirs


@settings(max_examples=25)
@given(JOBS)
def test_easy_starts_no_head_after_its_shadow_time(jobs: list[PhillyJob]) -> None:
    started = starts_of(jobs, "easy")
    for head, shadow in pool.lived(jobs, GPUS, "easy").shadows.items():
        assert started[head.number] <= shadow


NODE_JOBS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 12), st.integers(1, 30)), min_size=2, max_size=25
).map(
    lambda rows: [
        PhillyJob(str(i), start / 2, gpus, length / 5)
        for i, (start, gpus, length) in enumerate(rows)
    ]
)


def starts_on_nodes(jobs: list[PhillyJob], policy: str) -> tuple[list[PhillyJob], list[int]]:
    """Jobs in order, and the start of each, on three nodes of four GPUs."""
    fitting, record = replay_jobs(jobs, 12, policy, node_gpus=4)
    starts, at = [], 0
    for job in fitting:
        starts.append(int(record.started[at]))
        at += -(-job.gpus // 4)
    return fitting, starts


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@settings(max_examples=12)
@given(jobs=NODE_JOBS)
def test_backfill_on_nodes_does_not_delay_the_first_head(
    policy: str, jobs: list[PhillyJob]
) -> None:
    """The first job that waits under FIFO starts no later if others may pass it."""
    fitting, plain = starts_on_nodes(jobs, "fifo")
    _, filled_up = starts_on_nodes(jobs, policy)
    assert min(filled_up) >= 0
    waited = [i for i, job in enumerate(fitting) if plain[i] > job.submit_s * 10]
    assert all(filled_up[i] <= plain[i] for i in waited[:1])


def filled(
    capacity: tuple[int, int], requests: list[tuple[int, int]], weights: list[int]
) -> list[int]:
    """Progressive filling: the queue with the least gets one more, until none fits any more."""
    left, got, full = list(capacity), [0] * len(requests), [False] * len(requests)
    while not all(full):
        shares = [
            max(n * each / whole for each, whole in zip(request, capacity, strict=True)) / weight
            for n, request, weight in zip(got, requests, weights, strict=True)
        ]
        i = min((k for k in range(len(requests)) if not full[k]), key=shares.__getitem__)
        if all(free >= request for free, request in zip(left, requests[i], strict=True)):
            left = [free - request for free, request in zip(left, requests[i], strict=True)]
            got[i] += 1
        else:
            full[i] = True
    return got


@settings(max_examples=25)
@given(
    st.tuples(st.integers(5, 40), st.integers(5, 40)),
    st.lists(st.tuples(REQUESTS, st.integers(1, 3)), min_size=2, max_size=3),
)
def test_drf_is_within_one_unit_of_progressive_filling(
    capacity: tuple[int, int], users: list[tuple[tuple[int, int], int]]
) -> None:
    queues = tuple(QueueConfig(f"q{i}", weight=weight) for i, (_, weight) in enumerate(users))
    node = make_node("one", cpu=str(capacity[0]), memory=f"{capacity[1]}Gi", pods=999)
    config = DispatcherConfig(queues=queues, between=SiblingPolicy.DRF)
    harness = Harness([node], config={"dispatcher": config})
    for i, (request, _) in enumerate(users):
        marks = {"stretto.dev/queue": f"q{i}"}
        more = {"cpu": str(request[0]), "memory": f"{request[1]}Gi"}
        harness.submit(*(make_pod(f"q{i}-{n}", annotations=marks, **more) for n in range(45)))
    harness.settle()
    assert harness.plane.dispatcher.audit() == []
    placed = [name for name, at in harness.placements().items() if at]
    ours = [sum(name.startswith(f"q{i}-") for name in placed) for i in range(len(users))]
    theirs = filled(capacity, [request for request, _ in users], [weight for _, weight in users])
    assert all(abs(one - other) <= 1 for one, other in zip(ours, theirs, strict=True))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 4)), min_size=1, max_size=20),
    st.sampled_from([SiblingPolicy.DRF, SiblingPolicy.FAIR_SHARE, SiblingPolicy.WEIGHT]),
    st.sampled_from(["FIFO", "Easy", "ShortestFirst", "FifoSkip"]),
)
def test_once_load_stops_every_queue_gets_a_turn(
    work: list[tuple[str, int]], between: SiblingPolicy, policy: str
) -> None:
    config = DispatcherConfig(
        queues=(QueueConfig("a", policy), QueueConfig("b", "Easy")), between=between
    )
    harness = Harness([make_node("one", cpu="4")], config={"dispatcher": config})
    for i, (queue, cpu) in enumerate(work):
        marks = {"stretto.dev/queue": queue, "stretto.dev/duration": str(i % 4)}
        harness.submit(make_pod(f"p{i}", cpu=str(cpu), annotations=marks))
    for _ in work:
        harness.settle()
        assert harness.plane.dispatcher.audit() == []
        running = [name for name, at in harness.placements().items() if at]
        if running:
            harness.delete(running[0])
    harness.settle()
    assert harness.placements() == {}
    assert not any(harness.plane.dispatcher.views.usage()[q] for q in {q for q, _ in work})
