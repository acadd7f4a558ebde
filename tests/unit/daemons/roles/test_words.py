"""The daemons report why a pod is pending, whichever of them holds it."""

from typing import Any

from stretto.api.wire.kinds import EVENT, POD
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, says


def words(rig: Rig, pod: str) -> list[str]:
    """Return the messages of a pod's conditions."""
    status: dict[str, Any] = rig.shown(POD, pod, "default").get("status") or {}
    return [each.get("message", "") for each in status.get("conditions", ())]


def test_a_pod_with_an_unknown_request_reports_it_until_it_is_corrected() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    rig.pods(make_pod("odd", annotations=says(pod_launcher="docker")))
    rig.run(30.0)
    (said,) = words(rig, "odd")
    assert "pod-launcher: got 'docker', expected one of kubelet, node-manager" in said
    assert len(rig.store.list(EVENT).records) == 1
    rig.say("odd", pod_launcher="kubelet")
    rig.run(2.0)
    assert rig.node_of("odd") == "n1"


def test_a_gang_that_lacks_pods_waits_at_a_shard_and_was_not_tried() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    rig.settle()
    rig.groups(make_group("g", 2))
    at_a = says(pod_state="dispatched", selected_scheduler="a")
    rig.pods(make_pod("g-0", group="g", annotations=at_a))
    rig.run(3.0)
    assert words(rig, "g-0") == ["only 1 of the 2 pods of default/g exist"]
    assert "e2e-excluded" not in rig.notes("g-0")
