"""Explanations name the guarantees that forbid an eviction, and the result of a reclaim."""

from stretto.explain.why.answers import Explanation
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.framework.preemption.explain import MessageSuffixes
from stretto.testing import make_node, make_pod
from tests.support.recreating_harness import RecreatingHarness, queue_object, queue_pod


def explained(harness: RecreatingHarness, pod: str) -> Explanation:
    plane = harness.plane
    views = plane.dispatcher.views
    return explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units, views), pod)


def sentence(harness: RecreatingHarness, pod: str) -> str:
    share = explained(harness, pod).share
    assert share is not None
    return share.sentence


def one_node(*queues: bytes, cpu: str = "2", gpus: int = 0) -> RecreatingHarness:
    return RecreatingHarness([make_node("n0", cpu=cpu, memory="64Gi", gpus=gpus)], *queues)


def test_a_guarantee_that_forbids_a_preemption_is_named_with_the_pods() -> None:
    harness = one_node(queue_object("a", guarantee={"cpu": "2"}))
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(3)
    harness.submit(make_pod("urgent", cpu="1", priority=9))
    harness.run(3)
    found = explained(harness, "urgent").preemption
    assert found is not None
    assert found.nodes == (("node(s) had pods within the guarantee of their queue", 1),)
    assert found.held[0].pods == ("default/a-0-1", "default/a-1-1")


def test_the_event_of_the_pod_names_it_too() -> None:
    harness = one_node(queue_object("a", guarantee={"cpu": "2"}))
    harness.work("a", lambda name: queue_pod(name, "a"), 2)
    harness.run(3)
    harness.submit(make_pod("urgent", cpu="1", priority=9))
    harness.run(3)
    plane = harness.plane
    pods = plane.cluster.pods
    row = next(row for row in pods.rows().tolist() if pods.name[row] == "urgent")
    suffixes = MessageSuffixes(plane.engine, plane.budgets, plane.factory.priority_terms())
    text = suffixes.of(row, plane.clock.monotonic())
    assert "1 node(s) had pods within the guarantee of their queue" in text


def test_a_guarantee_in_another_resource_is_the_reason_why_nothing_is_reclaimed() -> None:
    queues = queue_object("web", guarantee={"cpu": "16"}), queue_object("ml")
    harness = one_node(*queues, cpu="64", gpus=1)
    harness.work("ml", lambda name: queue_pod(name, "ml", gpus=1))
    harness.run(3)
    harness.submit(queue_pod("web-0", "web", gpus=1))
    harness.run(3)
    assert "a guarantee reclaims only the resources that it names" in sentence(harness, "web-0")


def test_a_unit_above_the_guarantee_gets_the_reason() -> None:
    harness = one_node(queue_object("a", guarantee={"cpu": "1"}), queue_object("b"))
    harness.work("b", lambda name: queue_pod(name, "b"), 2)
    harness.run(3)
    harness.submit(queue_pod("big", "a", "2"))
    harness.run(3)
    assert "the unit would take its queue above its guarantee" in sentence(harness, "big")


def test_while_victims_terminate_the_unit_waits_for_them() -> None:
    harness = RecreatingHarness(
        [make_node("n0", cpu="2")],
        queue_object("a", guarantee={"cpu": "1"}),
        queue_object("b"),
        grace=60.0,
    )
    harness.work("b", lambda name: queue_pod(name, "b"), 2)
    harness.run(3)
    harness.submit(queue_pod("own", "a"))
    harness.run(5)
    assert "pods of other queues terminate for it" in sentence(harness, "own")
