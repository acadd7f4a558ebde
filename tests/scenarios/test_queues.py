"""Fairness between queues through a real plane: the textbook, weights, and what happens later."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import POD, QUEUE
from stretto.base.errors import InputError, UnknownNameError
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.state.queues.shape import SiblingPolicy
from stretto.stores.store import Bind
from stretto.testing import Harness, make_node, make_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

QueueRequest = tuple[int, int]
"""CPUs and GiB of one pod."""


def make_harness(capacity: QueueRequest, *queues: QueueConfig, **config: Any) -> Harness:
    cpu, memory = capacity
    node = make_node("one", cpu=str(cpu), memory=f"{memory}Gi", pods=1000)
    return Harness([node], config={"dispatcher": DispatcherConfig(queues=queues, **config)})


def pods(queue: str, request: QueueRequest, count: int, **notes: str) -> list[bytes]:
    marks = {"stretto.dev/queue": queue, **notes}
    return [
        make_pod(f"{queue}-{i}", cpu=str(request[0]), memory=f"{request[1]}Gi", annotations=marks)
        for i in range(count)
    ]


def placed(harness: Harness) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, node in harness.placements().items():
        found[name[0]] = found.get(name[0], 0) + bool(node)
    assert harness.plane.dispatcher.audit() == []
    return found


@pytest.mark.parametrize("policy", ["FifoSkip", "FIFO", "Easy"])
@pytest.mark.parametrize(
    ("capacity", "a", "b", "expected"),
    [
        ((9, 18), (1, 4), (3, 1), {"a": 3, "b": 2}),
        ((100, 10_000), (2, 300), (6, 100), {"a": 20, "b": 10}),
    ],
)
def test_drf_shares_are_those_of_the_paper(
    capacity: QueueRequest, a: QueueRequest, b: QueueRequest, expected: dict[str, int], policy: str
) -> None:
    queues = QueueConfig("a", policy), QueueConfig("b", policy)
    harness = make_harness(capacity, *queues, between=SiblingPolicy.DRF)
    harness.submit(*pods("a", a, 60), *pods("b", b, 60))
    harness.settle()
    assert placed(harness) == expected


def test_weights_count_twice_what_they_are_twice() -> None:
    queues = QueueConfig("a", weight=2), QueueConfig("b")
    harness = make_harness((9, 100), *queues, between=SiblingPolicy.DRF)
    harness.submit(*pods("a", (1, 1), 20), *pods("b", (1, 1), 20))
    harness.settle()
    assert placed(harness) == {"a": 6, "b": 3}


def test_fair_share_counts_one_resource_only() -> None:
    harness = make_harness((12, 100), between=SiblingPolicy.FAIR_SHARE)
    harness.submit(*pods("a", (1, 8), 20), *pods("b", (2, 1), 20))
    harness.settle()
    assert placed(harness) == {"a": 6, "b": 3}


def test_by_weight_alone_pods_are_counted_and_not_what_they_hold() -> None:
    harness = make_harness((12, 100))
    harness.submit(*pods("a", (1, 8), 20), *pods("b", (2, 1), 20))
    harness.settle()
    assert placed(harness) == {"a": 4, "b": 4}


def test_a_queue_that_comes_late_gets_what_becomes_free() -> None:
    harness = make_harness((8, 100), between=SiblingPolicy.DRF)
    harness.submit(*pods("a", (1, 1), 40))
    harness.settle()
    harness.submit(*pods("b", (1, 1), 40))
    for name in [n for n, node in sorted(harness.placements().items()) if node][:4]:
        harness.delete(name)
        harness.settle()
    assert placed(harness) == {"a": 4, "b": 4}


def test_usage_is_refunded_when_pods_end() -> None:
    harness = make_harness((8, 100), between=SiblingPolicy.DRF)
    harness.submit(*pods("a", (1, 1), 3))
    harness.settle()
    held = harness.plane.dispatcher.views.usage()["a"]
    harness.delete("a-0")
    harness.settle()
    left = harness.plane.dispatcher.views.usage()["a"]
    assert {column: (held[column], left[column]) for column in (0, 3)} == {
        0: (3000, 2000),
        3: (3, 2),
    }


def test_pods_that_run_already_count_for_the_queue_that_they_name() -> None:
    harness = make_harness((8, 100), between=SiblingPolicy.DRF)
    marks = {"stretto.dev/queue": "a"}
    harness.submit(
        *(make_pod(f"a-{i}", cpu="1", node="one", annotations=marks) for i in range(100, 103))
    )
    harness.submit(*pods("a", (1, 1), 9), *pods("b", (1, 1), 9))
    harness.settle()
    assert placed(harness) == {"a": 4, "b": 4}


def queue(name: str, **spec: Any) -> bytes:
    meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    return msgspec.json.encode({**meta, "spec": spec})


def test_a_late_queue_object_counts_running_pods_of_every_source() -> None:
    harness = make_harness((8, 100))
    harness.submit(*pods("a", (1, 1), 2), make_pod("d-0", cpu="1"), make_pod("d-1", cpu="1"))
    harness.settle()
    harness.create(QUEUE, queue("a", limit={"cpu": "3"}), queue("default", limit={"cpu": "2"}))
    harness.settle()
    harness.submit(*pods("a", (1, 1), 9)[2:], make_pod("d-2", cpu="1"))
    harness.settle()
    assert placed(harness) == {"a": 3, "d": 2}


def test_a_new_plane_over_the_same_store_keeps_the_limits() -> None:
    harness = make_harness((8, 100))
    harness.create(QUEUE, queue("a", limit={"cpu": "3"}), queue("default", limit={"cpu": "1"}))
    harness.submit(*pods("a", (1, 1), 9), make_pod("d-0", cpu="1"))
    harness.settle()
    again = Harness(store=harness.store)
    again.submit(make_pod("d-1", cpu="1"))
    again.settle()
    assert placed(again) == {"a": 3, "d": 1}


def test_a_limit_on_gpus_counts_whole_ones() -> None:
    harness = Harness([make_node("one", cpu="64", gpus=8)])
    harness.create(QUEUE, queue("a", limit={"nvidia.com/gpu": "3"}, policy="FifoSkip"))
    marks = {"stretto.dev/queue": "a"}
    harness.submit(*(make_pod(f"a-{i}", gpus=1, annotations=marks) for i in range(5)))
    harness.settle()
    assert placed(harness) == {"a": 3}


def test_gpus_that_are_devices_count_for_the_dominant_share() -> None:
    node = make_node("one", cpu="64", gpus=8)
    config = DispatcherConfig(between=SiblingPolicy.DRF)
    harness = Harness([node], config={"dispatcher": config})
    for queue, gpus in (("a", 1), ("b", 2)):
        marks = {"stretto.dev/queue": queue}
        harness.submit(*(make_pod(f"{queue}-{i}", gpus=gpus, annotations=marks) for i in range(9)))
    harness.settle()
    assert placed(harness) == {"a": 4, "b": 2}


def test_shortest_first_goes_by_the_annotation() -> None:
    harness = make_harness((1, 9), QueueConfig("a", "ShortestFirst"))
    marks = {"stretto.dev/queue": "a"}
    for name, more in [("long", {}), ("short", {"stretto.dev/duration": "5"})]:
        harness.submit(make_pod(name, cpu="1", annotations={**marks, **more}))
    harness.settle()
    assert harness.placements() == {"long": "", "short": "one"}


def test_an_unknown_policy_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean Easy"):
        make_harness((1, 1), QueueConfig("a", "Eazy"))


def test_an_unknown_policy_of_other_queues_is_found_at_once() -> None:
    with pytest.raises(UnknownNameError, match="did you mean FIFO"):
        make_harness((1, 1), other_queues=QueueConfig("x", "FIFA"))


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_weight_must_be_above_nothing(weight: float) -> None:
    with pytest.raises(InputError, match=r"queue a: weight: got .*, expected a number above 0"):
        QueueConfig("a", weight=weight)


def test_a_gated_pod_that_another_client_binds_counts_for_its_queue() -> None:
    harness = make_harness((9, 99), QueueConfig("a", "FifoSkip", limit={"cpu": 2000}))
    marks = {"stretto.dev/queue": "a"}
    gates = {"schedulingGates": [{"name": "wait"}]}
    harness.submit(make_pod("a-gated", cpu="1", annotations=marks, spec=gates))
    harness.settle()
    record = harness.store.get(POD, "default", "a-gated")
    assert record is not None
    harness.store.bind([Bind("default", "a-gated", record.uid, "one")])
    harness.submit(*pods("a", (1, 1), 3))
    harness.settle()
    assert placed(harness) == {"a": 2}
