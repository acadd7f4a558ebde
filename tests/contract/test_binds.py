"""Binds: at most once, by uid, and nothing of the pod is lost."""

from stretto.api.wire.kinds import NODE, POD
from stretto.stores.store import Bind, WriteOutcome
from tests.contract import bodies
from tests.contract.shorthand import CONFLICT, NOT_FOUND, SPACE, Desk, answer, written


def test_a_bind_gives_the_pod_its_node(desk: Desk) -> None:
    pod = desk.pod("web")
    desk.node("n1")
    bound = written(desk.bind(pod, "n1"))
    assert bound.node == "n1"
    assert bound.uid == pod.uid
    assert bound.version > pod.version
    assert desk.shown(pod)["spec"]["nodeName"] == "n1"


def test_a_bind_writes_its_annotations_and_keeps_the_others(desk: Desk) -> None:
    pod = desk.pod("web", annotations={"mine": "1", "gpu": "none"})
    desk.node("n1")
    written(desk.bind(pod, "n1", {"gpu": "0,3"}))
    assert desk.shown(pod)["metadata"]["annotations"] == {"mine": "1", "gpu": "0,3"}


def test_annotations_of_a_bind_survive_a_patch_and_can_be_patched(desk: Desk) -> None:
    pod = desk.pod("web")
    desk.node("n1")
    written(desk.bind(pod, "n1", {"gpu": "0", "port": "1"}))
    written(desk.patch(pod, {"metadata": {"annotations": {"gpu": "7"}, "labels": {"a": "1"}}}))
    assert desk.shown(pod)["metadata"]["annotations"] == {"gpu": "7", "port": "1"}


def test_a_node_survives_a_patch_an_update_and_a_status(desk: Desk) -> None:
    pod = desk.bound("web", "n1")
    written(desk.patch(pod, {"metadata": {"labels": {"a": "1"}}}))
    written(desk.status(pod, {"phase": "Running"}))
    written(desk.update(pod, {}))
    found = desk.now(pod)
    assert found is not None
    assert found.node == "n1"


def test_a_bind_again_to_the_same_node_is_fine(desk: Desk) -> None:
    pod = desk.bound("web", "n1")
    assert written(desk.bind(pod, "n1")).node == "n1"


def test_a_bind_to_another_node_is_a_conflict(desk: Desk) -> None:
    pod = desk.bound("web", "n1")
    desk.node("n2")
    assert answer(desk.bind(pod, "n2")) == CONFLICT
    found = desk.now(pod)
    assert found is not None
    assert found.node == "n1"


def test_a_pod_twice_in_a_batch_is_bound_once(desk: Desk) -> None:
    pod = desk.pod("web")
    desk.node("n1")
    desk.node("n2")
    binds = [Bind(SPACE, "web", pod.uid, node) for node in ("n1", "n2", "n1")]
    replies = desk.store.bind(binds)
    outcomes = [reply.outcome for reply in replies]
    assert outcomes == [WriteOutcome.OK, WriteOutcome.CONFLICT, WriteOutcome.OK]


def test_a_bind_meant_for_a_namesake_is_a_conflict(desk: Desk) -> None:
    first = desk.pod("web")
    written(desk.delete(first))
    second = desk.pod("web")
    desk.node("n1")
    assert answer(desk.bind(first, "n1")) == CONFLICT
    assert desk.now(second) == second


def test_a_bind_of_a_pod_that_is_gone_is_not_found(desk: Desk) -> None:
    pod = desk.pod("web")
    desk.node("n1")
    written(desk.delete(pod))
    assert answer(desk.bind(pod, "n1")) == NOT_FOUND


def test_a_bind_to_a_node_that_is_gone_is_not_found(desk: Desk) -> None:
    desk.needs("checks_nodes")
    pod, node = desk.pod("web"), desk.node("n1")
    written(desk.delete(node))
    assert answer(desk.bind(pod, "n1")) == NOT_FOUND
    assert desk.now(pod) == pod


def test_a_pod_that_is_to_go_is_not_bound(desk: Desk) -> None:
    pod = desk.pod("web", finalizers=["stretto.dev/hold"])
    desk.node("n1")
    written(desk.delete(pod))
    assert answer(desk.bind(pod, "n1")) == CONFLICT


def test_one_bad_bind_of_a_batch_fails_alone(desk: Desk) -> None:
    pods = [desk.pod(name) for name in "abc"]
    desk.node("n1")
    binds = [Bind(SPACE, pod.name, pod.uid, "n1") for pod in pods]
    binds[1] = Bind(SPACE, "b", "another-uid", "n1")
    outcomes = [reply.outcome for reply in desk.store.bind(binds)]
    assert outcomes == [WriteOutcome.OK, WriteOutcome.CONFLICT, WriteOutcome.OK]
    assert desk.names(fields="spec.nodeName=n1") == ["a", "c"]


def test_binds_in_several_namespaces_find_their_pods(desk: Desk) -> None:
    desk.node("n1")
    spaces = ("one", "two", "one")
    pods = [
        desk.create(POD, bodies.pod(f"p{index}", namespace=space))
        for index, space in enumerate(spaces)
    ]
    binds = [Bind(pod.namespace, pod.name, pod.uid, "n1") for pod in pods]
    assert [reply.outcome for reply in desk.store.bind(binds)] == [WriteOutcome.OK] * 3
    bound = [found for pod in pods if (found := desk.now(pod))]
    assert [(each.namespace, each.node) for each in bound] == [(s, "n1") for s in spaces]


def test_a_bound_pod_is_there_when_its_node_goes(desk: Desk) -> None:
    pod = desk.bound("web", "n1")
    node = desk.store.get(NODE, "", "n1")
    assert node is not None
    written(desk.delete(node))
    found = desk.now(pod)
    assert found is not None
    assert found.node == "n1"
