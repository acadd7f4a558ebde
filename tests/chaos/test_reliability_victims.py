"""Case 24 of the inventory: victims that never terminate, or only some, under each profile.

kubernetes#95752 and #66549: the preemptor stayed nominated to the node without end, and so did the
capacity that its victims had freed. After a deadline the pod is scheduled again.
"""

import msgspec
import pytest

from stretto.api.wire.kinds import POD
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.parametrize("profile", ["default", "kube-parity"]),
]

DEADLINE = 120.0
"""Default seconds that a preemptor waits for its victims."""


def low(name: str, node: str, cpu: str = "4", *, held: bool = False, priority: int = 0) -> bytes:
    """A running pod; a held one does not go when it is deleted."""
    body = msgspec.json.decode(make_pod(name, cpu=cpu, node=node, priority=priority))
    if held:
        body["metadata"]["finalizers"] = ["stretto.dev/test"]
    return msgspec.json.encode(body)


def cluster(profile: str, *pods: bytes) -> Harness:
    """Two nodes of four cores with running pods on them."""
    made = Harness([make_node(n, cpu="4") for n in ("a", "b")], profile=profile)
    made.submit(*pods)
    made.settle()
    return made


def finish_eviction(harness: Harness, name: str) -> None:
    harness.store.patch(POD, [Patch("default", name, {"metadata": {"finalizers": None}})])


def sound(harness: Harness) -> bool:
    """No charge without an object, and no capacity stays reserved."""
    kept = harness.plane.cluster.nominations.by_row
    return not (kept or harness.breaches() or harness.plane.dispatcher.audit())


def test_case_24_a_victim_that_never_terminates_does_not_block_its_preemptor_for_good(
    profile: str,
) -> None:
    made = cluster(profile, low("stuck", "a", held=True), low("soft", "b", priority=5))
    made.submit(make_pod("big", cpu="4", priority=10))
    made.settle(DEADLINE / 2)
    assert made.node_of("big") == ""  # the less important victim still terminates
    made.settle(2 * DEADLINE)
    assert made.node_of("big") == "b"
    assert sound(made)


def test_case_24_capacity_freed_by_only_some_victims_is_released_after_the_deadline(
    profile: str,
) -> None:
    pods = low("goes", "a", "2"), low("stuck", "a", "2", held=True), low("keeper", "b", priority=10)
    made = cluster(profile, *pods)
    made.submit(make_pod("big", cpu="4", priority=10))
    made.settle(1.0)
    made.submit(make_pod("small", cpu="2", priority=5))
    made.settle(DEADLINE / 2)
    assert (made.node_of("big"), made.node_of("small")) == ("", "")  # reserved for big
    made.settle(2 * DEADLINE)
    assert (made.node_of("big"), made.node_of("small")) == ("", "a")
    assert sound(made)


def test_case_24_the_last_victim_may_go_as_late_as_the_deadline_lets_it(profile: str) -> None:
    pods = low("goes", "a", "2"), low("late", "a", "2", held=True), low("keeper", "b", priority=10)
    made = cluster(profile, *pods)
    made.submit(make_pod("big", cpu="4", priority=10))
    made.settle(DEADLINE - 20)
    finish_eviction(made, "late")
    made.settle(10.0)
    assert made.node_of("big") == "a"
    assert sound(made)
