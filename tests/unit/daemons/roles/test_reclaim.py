"""A queue gets its borrowed quota back although dispatcher, shards and binder are daemons."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import POD, QUEUE
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, names


def queue(name: str, **spec: Any) -> bytes:
    """A queue."""
    head = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    return json.dumps({**head, "spec": spec}).encode()


def of_queue(name: str, pod: str, **more: Any) -> bytes:
    """A pod of one core in a queue."""
    return make_pod(pod, cpu="1", annotations={"stretto.dev/queue": name}, **more)


def two_queues(rig: Rig, nodes: int = 2) -> None:
    """Two queues with half of all cores each."""
    rig.nodes(*(make_node(name, cpu="4") for name in names("n", nodes)))
    half = {"cpu": str(2 * nodes)}
    rig.put(QUEUE, queue("host", guarantee=half), queue("guest", guarantee=half))
    rig.settle()


def held(rig: Rig, prefix: str) -> int:
    """Pods on nodes by the first part of their names."""
    return sum(name.startswith(prefix) for name in rig.bound())


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("preempts", [True, False])
def test_a_queue_reclaims_its_borrowed_quota_and_no_more(shards: int, preempts: bool) -> None:
    rig = Rig(*names("shard", shards), preempts=preempts)
    two_queues(rig)
    rig.pods(*(of_queue("guest", name) for name in names("guest", 8)))
    rig.run(3.0)
    assert held(rig, "guest") == 8
    rig.pods(*(of_queue("host", name) for name in names("host", 6)))
    rig.run(60.0)
    assert (held(rig, "host"), held(rig, "guest")) == (4, 4)


def test_a_pod_pending_at_a_shard_does_not_take_reclaimed_capacity() -> None:
    rig = Rig("a", preempts=True)
    two_queues(rig)
    rig.pods(*(of_queue("guest", name) for name in names("guest", 14)))
    rig.run(3.0)
    at_shard = [n for n in names("guest", 14) if rig.notes(n).get("pod-state") == "dispatched"]
    assert len(at_shard) == 6
    rig.pods(*(of_queue("host", name) for name in names("host", 4)))
    rig.run(60.0)
    assert (held(rig, "host"), held(rig, "guest")) == (4, 4)
    evicted = 14 - len(rig.store.list(POD).records) + 4
    assert evicted == 4


def test_no_other_pod_takes_reclaimed_capacity_while_its_owner_is_at_a_slow_shard() -> None:
    rig = Rig("a", "b")
    two_queues(rig)
    rig.pods(*(of_queue("guest", name) for name in names("guest", 14)))
    rig.run(3.0)
    rig.pods(of_queue("host", "host-0"))
    others = ["dispatcher", "binder", "controller"]
    while rig.notes("host-0").get("pod-state") != "dispatched":
        rig.settle(*others)
        rig.clock.advance(0.1)
    slow = rig.notes("host-0")["selected-scheduler"]
    for _ in range(15):  # for less than a shard has before what it was given is taken back
        rig.settle(*others, *{"a", "b"} - {slow})
        rig.clock.advance(0.1)
    rig.run(60.0)
    assert held(rig, "host") == 1
    assert 15 - len(rig.store.list(POD).records) == 1


def test_a_gang_with_a_guarantee_gets_its_capacity_as_a_whole() -> None:
    rig = Rig("a", "b")
    two_queues(rig)
    rig.pods(*(of_queue("guest", name) for name in names("guest", 8)))
    rig.run(3.0)
    rig.groups(make_group("ring", 3))
    rig.pods(*(of_queue("host", name, group="ring") for name in names("ring", 3)))
    rig.run(60.0)
    assert (held(rig, "ring"), held(rig, "guest")) == (3, 5)


def test_a_unit_that_lost_its_capacity_at_a_shard_reclaims_it() -> None:
    rig = Rig("a")
    two_queues(rig)
    rig.stop("a")
    rig.pods(*(of_queue("host", name) for name in names("host", 4)))
    rig.run(1.0)
    assert {rig.notes(name)["pod-state"] for name in names("host", 4)} == {"dispatched"}
    bound = [*names("n", 2)] * 4
    rig.pods(*(of_queue("guest", f"guest-{i}", node=node) for i, node in enumerate(bound)))
    rig.start("a")
    rig.run(60.0)
    assert (held(rig, "host"), held(rig, "guest")) == (4, 4)


def test_no_pod_is_evicted_if_the_remaining_pods_block_every_node() -> None:
    rig = Rig("a")
    two_queues(rig)
    kept = {"godel.bytedance.com/can-be-preempted": "false"}
    keepers = zip(names("keeper", 2), names("n", 2), strict=True)
    rig.pods(
        *(make_pod(k, cpu="1", labels={"app": "k"}, annotations=kept, node=n) for k, n in keepers)
    )
    rig.pods(*(of_queue("guest", name) for name in names("guest", 6)))
    rig.run(3.0)
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "k"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    rig.pods(of_queue("host", "host-0", spec={"affinity": apart}))
    rig.run(60.0)
    assert (held(rig, "host"), held(rig, "guest")) == (0, 6)


@pytest.mark.parametrize("role", ["dispatcher", "a", "binder"])
def test_a_daemon_may_be_killed_while_victims_terminate(role: str) -> None:
    rig = Rig("a")
    two_queues(rig)
    rig.pods(*(of_queue("guest", name) for name in names("guest", 12)))
    rig.run(3.0)
    rig.pods(*(of_queue("host", name) for name in names("host", 4)))
    for _ in range(4):
        rig.run(1.0)
        rig.start(role)
    rig.run(90.0)
    assert held(rig, "host") == 4


def test_usage_that_was_not_borrowed_stays() -> None:
    rig = Rig("a")
    two_queues(rig)
    rig.pods(*(of_queue("guest", name) for name in names("guest", 4)))
    rig.pods(*(make_pod(f"other-{i}", cpu="1") for i in range(4)))
    rig.run(3.0)
    rig.pods(*(of_queue("guest", name) for name in names("more", 2)))
    rig.run(60.0)
    assert (held(rig, "guest"), held(rig, "other"), held(rig, "more")) == (4, 4, 0)
