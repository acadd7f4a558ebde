"""A node reports fewer devices than before: what its pods request still counts."""

from typing import Any

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD
from stretto.state.classes.annotations import MICRO_TOPOLOGY
from stretto.state.queries.invariants import devices_equal_rows
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

GPU = "nvidia.com/gpu"
RESERVED = {
    "godel.bytedance.com/reservation": "true",
    "godel.bytedance.com/reservation-ttl": "1000",
}
ON_DEVICE_4 = numa_notes() | {
    "stretto.dev/gpu-devices": "4",
    MICRO_TOPOLOGY: "1:cpu=4,memory=128Mi",
}


class GpuNode:
    """One node with GPUs; pods are placed in turn."""

    def __init__(self, gpus: int, *reports: bytes) -> None:
        self.harness = Harness([make_node("n", cpu="16", gpus=gpus)], config={"tier": "numpy"})
        self.harness.create(CUSTOM_NODE_RESOURCE, *reports)
        self.harness.settle()

    def reports(self, gpus: int) -> None:
        """The node has so many GPUs now."""
        patch = {"status": {"allocatable": {GPU: str(gpus)}}}
        self.harness.store.patch_status(NODE, [Patch("", "n", patch)])
        self.harness.settle()

    def takes(self, name: str, gpus: int, **more: Any) -> bool:
        """Return whether a new pod is placed."""
        self.harness.submit(make_pod(name, gpus=gpus, **{"cpu": "0", **more}))
        self.harness.settle()
        return self.harness.placements()[name] == "n"

    def reserves(self, name: str, gpus: int) -> None:
        """A pod takes GPUs and ends; its place is reserved for a successor."""
        self.harness.submit(make_pod(name, cpu="0", gpus=gpus, annotations=RESERVED))
        self.harness.settle()
        self.ends(name)

    def ends(self, name: str) -> None:
        """A pod is deleted."""
        self.harness.store.delete(POD, [Deletion("default", name)])
        self.harness.settle()


def test_what_pods_request_is_not_free_whichever_device_is_lost() -> None:
    node = GpuNode(4)
    assert [node.takes("a", 2), node.takes("b", 2)] == [True, True]
    node.ends("a")
    node.reports(3)
    assert [node.takes("c", 2), node.takes("d", 1)] == [False, True]


def test_what_pods_with_numa_nodes_request_is_not_free() -> None:
    zone = {"cpu": "8", "memory": "16Gi"}
    node = GpuNode(4, make_report("n", [zone, zone], gpus=[(0, 1), (2, 3)]))
    bound = {"cpu": "4", "annotations": numa_notes()}
    assert [node.takes("a", 2, **bound), node.takes("b", 2, **bound)] == [True, True]
    node.ends("a")
    node.reports(3)
    assert devices_equal_rows(node.harness.plane.cluster) == []
    assert [node.takes("c", 2), node.takes("d", 1)] == [False, True]


def test_a_pod_keeps_a_device_of_its_numa_node_if_one_is_free() -> None:
    zone = {"cpu": "16", "memory": "16Gi"}
    node = GpuNode(5, make_report("n", [zone, zone], gpus=[(0, 1), (2, 3, 4)]))
    assert node.takes("a", 1, cpu="10", annotations=numa_notes())
    node.harness.submit(make_pod("b", node="n", cpu="4", gpus=1, annotations=ON_DEVICE_4))
    node.harness.settle()
    node.reports(4)
    assert node.harness.plane.cluster.ledger.devices.free[0, :4].tolist() == [0, 1000, 0, 1000]


def test_nothing_is_free_while_pods_request_all_that_is_left() -> None:
    node = GpuNode(4)
    assert [node.takes("a", 2), node.takes("b", 2)] == [True, True]
    node.reports(2)
    node.ends("a")
    assert not node.takes("c", 1)


def test_devices_that_return_are_free_but_for_those_of_the_pods() -> None:
    node = GpuNode(4)
    assert node.takes("a", 3)
    node.reports(0)
    node.reports(4)
    assert [node.takes("b", 2), node.takes("c", 1)] == [False, True]


def test_every_device_agrees_with_its_pods_after_each_change() -> None:
    node = GpuNode(4)
    assert [node.takes("a", 1), node.takes("b", 3)] == [True, True]
    for gpus in (3, 1, 0, 2, 4):
        node.reports(gpus)
        assert devices_equal_rows(node.harness.plane.cluster) == []
    node.ends("b")
    assert devices_equal_rows(node.harness.plane.cluster) == []


def test_a_reserved_place_keeps_as_many_devices() -> None:
    node = GpuNode(4)
    node.reserves("a", 2)
    assert len(node.harness.plane.cluster.reservations.places) == 1
    node.reports(3)
    assert devices_equal_rows(node.harness.plane.cluster) == []
    assert [node.takes("b", 2), node.takes("c", 1)] == [False, True]
