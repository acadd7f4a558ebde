"""Queues at separate shards: guarantees against preemption, and planned nodes."""

from typing import Any

import pytest

from stretto.api.wire.kinds import POD, QUEUE
from stretto.testing import make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, names
from tests.unit.daemons.roles.test_reclaim import held, of_queue, queue


def contest(**spec: Any) -> Rig:
    """Two pods of a queue fill a node; a pod of another queue has a higher priority."""
    rig = Rig("a", **spec.pop("rig", {}))
    rig.nodes(make_node("n", cpu="2"))
    rig.put(QUEUE, queue("owner", **spec), queue("guest"))
    rig.pods(*(of_queue("owner", name) for name in names("owner", 2)))
    rig.run(3.0)
    rig.pods(of_queue("guest", "urgent", priority=1000))
    rig.run(30.0)
    return rig


def test_a_guarantee_protects_from_preemption() -> None:
    assert held(contest(guarantee={"cpu": "2"}), "owner") == 2


def test_what_a_queue_has_borrowed_is_not_protected() -> None:
    rig = contest(guarantee={"cpu": "1"})
    assert (held(rig, "owner"), held(rig, "urgent")) == (1, 1)


def test_a_guarantee_above_the_limit_protects_no_more_than_the_limit() -> None:
    rig = contest(guarantee={"cpu": "2"}, limit={"cpu": "1"})
    assert held(rig, "urgent") == 1


def test_where_priorities_come_first_guarantees_protect_no_pod() -> None:
    first = {"profiles": [{"stretto": {"preemption": {"acrossQueues": "priority"}}}]}
    rig = contest(guarantee={"cpu": "2"}, rig={"profile": first})
    assert held(rig, "urgent") == 1


def test_a_limit_is_enforced_by_the_dispatcher_alone() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n", cpu="4"))
    rig.put(QUEUE, queue("owner", limit={"cpu": "2"}, guarantee={"cpu": "1"}))
    rig.pods(*(of_queue("owner", name) for name in names("owner", 3)))
    rig.run(5.0)
    assert held(rig, "owner") == 2


def timed(name: str, cpu: str, seconds: int, **more: Any) -> bytes:
    notes = {"stretto.dev/queue": "batch", "stretto.dev/duration": str(seconds)}
    return make_pod(name, cpu=cpu, annotations=notes, **more)


def backfilling(policy: str) -> Rig:
    """The head of the queue waits for the large node, which half of its capacity is free on."""
    rig = Rig("a")
    rig.nodes(make_node("large", cpu="8"), make_node("small", cpu="4"))
    rig.put(QUEUE, queue("batch", policy=policy))
    rig.pods(timed("short", "4", 100, node="large"), timed("long", "2", 5000, node="small"))
    rig.run(2.0)
    rig.pods(timed("head", "8", 1000))
    rig.run(2.0)
    return rig


@pytest.mark.parametrize("policy", ["Easy", "Conservative"])
def test_a_backfilled_pod_gets_its_planned_node(policy: str) -> None:
    rig = backfilling(policy)
    rig.pods(timed("next", "1", 2000))
    rig.run(5.0)
    assert rig.node_of("next") == "small"  # a shard alone prefers the large node
    rig.delete(POD, "short", namespace="default")
    rig.run(5.0)
    assert rig.node_of("head") == "large"


def test_a_pod_whose_planned_node_is_full_is_planned_again() -> None:
    rig = backfilling("Easy")
    rig.stop("a")
    rig.pods(timed("next", "1", 2000))
    rig.run(2.0)
    assert rig.notes("next")["stretto.dev/planned-node"] == "small"
    rig.nodes(make_node("spare", cpu="4"))
    rig.pods(make_pod("other", cpu="2", node="small"))
    rig.start("a")
    rig.run(20.0)
    assert rig.node_of("next") == "spare"
