"""Invalid queues, groups, reports and loads from users and components: reported, and survived.

Circles, guarantees above the parent's and changes of ``minMember`` are in
``tests/unit/control/test_statuses.py``, reports of NUMA nodes in ``tests/unit/state``; here is what
is reported on the objects, and what cannot be reported on any object.
"""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import (
    CUSTOM_NODE_RESOURCE,
    EVENT,
    MOVEMENT,
    NODE,
    POD,
    POD_GROUP,
    QUEUE,
    Kind,
)
from stretto.control.dispatcher.shards import capacity_of
from stretto.control.reporting.reporter import ReportConfig
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_group, make_node, make_pod, make_report

ZONE = {"cpu": "8", "memory": "16Gi"}


def harness() -> Harness:
    config = {"tier": "numpy", "report": ReportConfig()}
    return Harness([make_node("n", cpu="16", memory="32Gi")], config=config)


def reported(at: Harness) -> dict[str, str]:
    """Messages of the events, by kind and name of what they are about."""
    events = [json.loads(record.body) for record in at.store.list(EVENT).records]
    about = [(each["involvedObject"], each["message"]) for each in events]
    return {f"{what['kind']} {what['name']}": message for what, message in about}


def older_report() -> bytes:
    return make_report("n", [ZONE, ZONE], created="2020-01-01T00:00:00Z")


def report(**changes: Any) -> bytes:
    body = json.loads(make_report("n", [ZONE, ZONE]))
    body["status"] |= changes
    return json.dumps(body).encode()


def negative_devices() -> bytes:
    body = json.loads(make_report("n", [ZONE, ZONE], gpus=[(0,), (1,)]))
    for socket in body["status"]["topologyZone"]:
        for numa in socket["children"]:
            numa["resources"]["allocatable"]["nvidia.com/gpu"] = "-2"
    return json.dumps(body).encode()


def unknown_zone() -> bytes:
    used = {"nodeMetric": {"numaUsage": [{"numaId": 9, "usage": {"cpu": "1"}}]}}
    return report(nodeMetricStatus=used)


BAD: list[tuple[str, Kind, bytes, str, str]] = [
    ("negative devices", CUSTOM_NODE_RESOURCE, negative_devices(), "CustomNodeResource n", "-2"),
    ("unknown zone", CUSTOM_NODE_RESOURCE, unknown_zone(), "CustomNodeResource n", "NUMA 9"),
    (
        "unreadable report",
        CUSTOM_NODE_RESOURCE,
        report(topologyZone="none"),
        "CustomNodeResource n",
        "topologyZone",
    ),
    (
        "unreadable movement",
        MOVEMENT,
        b'{"metadata": {"name": "m"}, "spec": {"generation": "first"}}',
        "Movement m",
        "generation",
    ),
    (
        "negative amounts",
        NODE,
        make_node("odd", cpu="-4"),
        "Node odd",
        "status.allocatable",
    ),
]


@pytest.mark.parametrize(
    ("kind", "body", "about", "part"), [each[1:] for each in BAD], ids=[each[0] for each in BAD]
)
def test_an_invalid_object_reports_its_error_and_the_rest_continues(
    kind: Kind, body: bytes, about: str, part: str
) -> None:
    at = harness()
    refused = [reply.message for reply in at.store.create(kind, [body]) if reply.message]
    at.submit(make_pod("p"))
    at.settle(2)
    assert at.node_of("p") == "n"
    assert part in (refused[0] if refused else reported(at)[about])


def test_a_report_older_than_its_node_is_flagged_until_a_newer_one_comes() -> None:
    at = harness()
    at.replace(NODE, json.dumps(_born(make_node("n", cpu="16"), "2026-01-01T00:00:00Z")).encode())
    at.create(CUSTOM_NODE_RESOURCE, older_report())
    at.settle(2)
    assert "before the node was created" in reported(at)["CustomNodeResource n"]
    at.replace(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE], created="2026-02-01T00:00:00Z"))
    at.settle(2)
    assert not any(key.startswith("customnoderesource") for key in at.plane.cluster.abnormal)


def _born(body: bytes, at: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(body)
    whole["metadata"]["creationTimestamp"] = at
    return whole


def test_the_same_complaint_is_reported_once() -> None:
    at = harness()
    at.create(MOVEMENT, b'{"metadata": {"name": "m"}, "spec": {"generation": "first"}}')
    at.settle(120)
    assert len(at.store.list(EVENT).records) == 1


def test_pods_of_a_queue_that_was_deleted_state_that_it_drains() -> None:
    at = harness()
    body = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": "a"}}
    spec = {"policy": "FifoSkip", "limit": {"cpu": "2"}}
    at.create(QUEUE, json.dumps({**body, "spec": spec}).encode())
    notes = {"stretto.dev/queue": "a"}
    at.submit(*(make_pod(f"p{i}", cpu="1", annotations=notes) for i in range(3)))
    at.settle(2)
    at.store.delete(QUEUE, [Deletion("", "a")])
    at.settle(20)
    (waits,) = [name for name, node in at.placements().items() if not node]
    record = at.store.get(POD, "default", waits)
    assert record is not None
    (condition,) = json.loads(record.body)["status"]["conditions"]
    assert "queue a starts nothing now: it is draining" in condition["message"]
    at.submit(make_pod("other"))
    at.settle(2)
    assert at.node_of("other") == "n"


def test_a_minimum_that_changes_while_a_group_runs_evicts_no_pod() -> None:
    at = harness()
    at.group("g", 2)
    at.submit(*(make_pod(f"g{i}", cpu="1", group="g") for i in range(2)))
    at.settle(2)
    at.replace(POD_GROUP, make_group("g", 5))
    at.submit(make_pod("late", cpu="1", group="g"), make_pod("other"))
    at.settle(5)
    placed = at.placements()
    assert (placed["g0"], placed["g1"], placed["other"]) == ("n", "n", "n")
    assert at.plane.dispatcher.audit() == []


# ---------------------------------------------------------------- a shard that lies about its load


@pytest.mark.parametrize(
    ("said", "handed", "capacity"),
    [
        (0, 0, 20),
        (5, 5, 15),
        (20, 20, 0),
        (1 << 40, 0, 20),  # the shard reports itself full of pods that it was never given
        (1 << 40, 7, 13),
        (-5, 12, 20),
        (0, 155, 5),  # nothing in hand, and it answers nothing
        (0, 1 << 20, 0),
    ],
)
def test_the_reported_load_of_a_shard_counts_as_far_as_it_is_possible(
    said: int, handed: int, capacity: int
) -> None:
    assert capacity_of(10, said, handed) == capacity


@pytest.mark.parametrize("lie", [1 << 40, -(1 << 40), 0])
@pytest.mark.parametrize("liars", [1, 2])
def test_a_shard_with_a_false_load_stops_no_other_shard(
    lie: int, liars: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [make_node(f"n{i}", cpu="16") for i in range(4)]
    at = Harness(nodes, config={"tier": "numpy", "shards": 2, "batch": 4})
    honest = type(at.plane.shards[0]).waiting.fget
    assert honest is not None
    false = {shard.number for shard in at.plane.shards[:liars]}

    def waiting(shard: Any) -> int:
        return lie if shard.number in false else int(honest(shard))

    monkeypatch.setattr(type(at.plane.shards[0]), "waiting", property(waiting))
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(40)))
    at.settle(5)
    assert ("" in at.placements().values(), at.breaches()) == (False, [])
    assert at.plane.dispatcher.audit() == []
