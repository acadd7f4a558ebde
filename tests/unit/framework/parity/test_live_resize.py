"""Resizing in place, in a whole plane under kube-parity."""

from stretto.api.wire.kinds import POD
from stretto.stores.store import Patch
from stretto.testing import make_node, make_pod
from tests.support.parity_cluster import pod
from tests.support.parity_plane import Parity

LONG = 30.0


def resized(plane: Parity, cpu: str) -> None:
    """The node reports the resources in force of the running pod."""
    amounts = {"cpu": cpu}
    reported = {"name": "main", "allocatedResources": amounts, "resources": {"requests": amounts}}
    status = {"status": {"containerStatuses": [reported]}}
    plane.store.patch_status(POD, [Patch("default", "big", status)])


def test_a_pod_that_shrinks_in_place_frees_capacity_once_its_node_reports_it() -> None:
    plane = Parity(make_node("a1", cpu="4"))
    plane.submit(make_pod("big", node="a1", cpu="4"))
    resized(plane, "4")
    plane.submit_pod(pod(requests={"cpu": "2"}))
    plane.settle()
    requested = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "128Mi"}}}
    plane.patch(POD, "big", spec={"containers": [requested]})
    plane.settle(LONG)
    assert plane.node_of("p") == ""
    resized(plane, "1")
    plane.settle(LONG)
    assert plane.node_of("p") == "a1"
