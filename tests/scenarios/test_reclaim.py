"""Queues lose quota to borrowers and reclaim it: through a real plane, with evictions."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import POD_DISRUPTION_BUDGET, QUEUE
from stretto.testing import Harness, make_node, make_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)


def queue(name: str, **spec: Any) -> bytes:
    meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    return msgspec.json.encode({**meta, "spec": {"policy": "FifoSkip", **spec}})


def pods(queue: str, count: int, *, first: int = 0, **more: Any) -> list[bytes]:
    marks = {"stretto.dev/queue": queue}
    numbers = range(first, first + count)
    return [make_pod(f"{queue}-{i}", cpu="1", annotations=marks, **more) for i in numbers]


def make_harness(*queues: bytes, nodes: int = 2, cpu: str = "4") -> Harness:
    harness = Harness([make_node(f"n{i}", cpu=cpu, memory="64Gi") for i in range(nodes)])
    harness.create(QUEUE, *queues)
    return harness


def placed(harness: Harness) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, node in harness.placements().items():
        found[name[0]] = found.get(name[0], 0) + bool(node)
    assert harness.plane.dispatcher.audit() == []
    assert harness.breaches() == []
    return found


OWED = {"guarantee": {"cpu": "4"}}


def test_a_queue_borrows_what_is_idle_and_gives_it_back_when_the_owner_returns() -> None:
    harness = make_harness(queue("a", **OWED), queue("b", **OWED))
    harness.submit(*pods("b", 8))
    harness.settle(2)
    assert placed(harness) == {"b": 8}
    harness.submit(*pods("a", 8))
    harness.settle(30)
    assert placed(harness) == {"a": 4, "b": 4}


def test_reclaim_takes_no_queue_below_its_guarantee() -> None:
    harness = make_harness(queue("a", **OWED), queue("b", guarantee={"cpu": "6"}))
    harness.submit(*pods("b", 8))
    harness.settle(2)
    harness.submit(*pods("a", 8))
    harness.settle(60)
    assert placed(harness) == {"a": 2, "b": 6}


def test_a_gang_gets_its_capacity_as_a_whole() -> None:
    harness = make_harness(queue("a", **OWED), queue("b"))
    harness.submit(*pods("b", 8))
    harness.settle(2)
    harness.group("gang", 4)
    harness.submit(*pods("a", 4, group="gang"))
    harness.settle(60)
    assert placed(harness) == {"a": 4, "b": 4}


def test_a_borrowers_gang_that_would_fall_below_its_minimum_is_evicted_as_a_whole() -> None:
    harness = make_harness(queue("a", guarantee={"cpu": "1"}), queue("b"), nodes=1)
    harness.group("gang", 4)
    harness.submit(*pods("b", 4, group="gang"))
    harness.settle(2)
    harness.submit(*pods("a", 1))
    harness.settle(60)
    assert placed(harness) == {"a": 1}


def test_members_above_the_minimum_of_a_gang_are_evicted_one_by_one() -> None:
    harness = make_harness(queue("a", guarantee={"cpu": "1"}), queue("b"), nodes=1)
    harness.group("gang", 2)
    harness.submit(*pods("b", 4, group="gang"))
    harness.settle(2)
    harness.submit(*pods("a", 1))
    harness.settle(60)
    assert placed(harness) == {"a": 1, "b": 3}


def test_quota_borrowed_under_a_limit_is_reclaimed_though_nodes_have_capacity() -> None:
    top = queue("top", policy="DRF", limit={"cpu": "4"})
    harness = make_harness(
        top, queue("a", parent="top", guarantee={"cpu": "2"}), queue("b", parent="top")
    )
    harness.submit(*pods("b", 8))
    harness.settle(2)
    assert placed(harness) == {"b": 4}
    harness.submit(*pods("a", 8))
    harness.settle(60)
    assert placed(harness) == {"a": 2, "b": 2}


def test_the_lowest_priority_is_evicted_first() -> None:
    harness = make_harness(queue("a", guarantee={"cpu": "2"}), queue("b"), nodes=1)
    harness.submit(*pods("b", 2, priority=5), *pods("b", 2, first=2, priority=1))
    harness.settle(2)
    harness.submit(*pods("a", 2, priority=0))
    harness.settle(60)
    assert [n for n, node in sorted(harness.placements().items()) if node and n[0] == "b"] == [
        "b-0",
        "b-1",
    ]


def test_above_its_guarantee_a_queue_takes_nothing_back() -> None:
    harness = make_harness(queue("a", guarantee={"cpu": "1"}), queue("b"), nodes=1)
    harness.submit(*pods("b", 4))
    harness.settle(2)
    harness.submit(*pods("a", 4))
    harness.settle(60)
    assert placed(harness) == {"a": 1, "b": 3}


def test_the_guarantee_of_a_parent_reaches_further_than_that_of_its_siblings() -> None:
    harness = make_harness(
        queue("top", guarantee={"cpu": "3"}, policy="DRF"),
        queue("a", parent="top", guarantee={"cpu": "2"}),
        queue("b"),
        nodes=1,
    )
    harness.submit(*pods("b", 4))
    harness.settle(2)
    harness.submit(*pods("a", 4))
    harness.settle(60)
    assert placed(harness) == {"a": 2, "b": 2}


def apart_from(app: str) -> dict[str, Any]:
    """A spec that no node takes which has a pod of that app."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": rules}}


@pytest.mark.parametrize("stays", ["true", "false"], ids=["it may go", "it stays"])
def test_a_pod_reclaims_capacity_only_where_it_can_run_then(stays: str) -> None:
    harness = make_harness(queue("a", **OWED), queue("b"))
    notes = {"godel.bytedance.com/can-be-preempted": stays}
    keepers = [(f"k{i}", f"n{i}") for i in range(2)]
    harness.submit(
        *(make_pod(k, cpu="1", labels={"app": "k"}, annotations=notes, node=n) for k, n in keepers),
        *pods("b", 20),
    )
    harness.settle(2)
    harness.submit(*pods("a", 1, spec=apart_from("k")))
    harness.settle(200)
    gone = {"true": {"a": 1, "b": 6, "k": 1}, "false": {"a": 0, "b": 6, "k": 2}}
    assert placed(harness) == gone[stays]


def test_a_disruption_budget_is_kept() -> None:
    harness = make_harness(queue("a", **OWED), queue("b"), nodes=1)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "default"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "b"}}},
    }
    harness.create(POD_DISRUPTION_BUDGET, msgspec.json.encode(budget))
    harness.submit(*pods("b", 4, labels={"app": "b"}))
    harness.settle(2)
    harness.submit(*pods("a", 4))
    harness.settle(200)
    assert placed(harness)["b"] >= 3


def test_a_gang_that_a_budget_keeps_together_stays_whole() -> None:
    harness = make_harness(queue("a", guarantee={"cpu": "1"}), queue("b"), nodes=1)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "b"}}},
    }
    harness.create(POD_DISRUPTION_BUDGET, msgspec.json.encode(budget))
    harness.group("gang", 4)
    harness.submit(*pods("b", 4, group="gang", labels={"app": "b"}))
    harness.settle(2)
    harness.submit(*pods("a", 1))
    harness.settle(60)
    assert placed(harness) == {"a": 0, "b": 4}
