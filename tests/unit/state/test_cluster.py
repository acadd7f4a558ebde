import numpy as np
import pytest

from stretto.api.types.handover_annotations import OWNER
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.queries.invariants import check_all
from stretto.state.rows.devices import MAX_MODELS
from stretto.state.rows.resources import CPU, PODS
from stretto.state.work.units import Cure
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import MODIFIED, ClusterFeed

NIC = "x.io/nic"
BOTH = ClusterConfig(device_kinds={"nvidia.com/gpu": "model", NIC: "nic"})


def free_devices(feed: ClusterFeed, node: str = "n") -> list[int]:
    devices = feed.cluster.ledger.devices
    slot = feed.slot(node)
    return devices.free[slot][devices.kind[slot] > 0].tolist()


def test_a_node_brings_its_amounts_and_devices() -> None:
    feed = ClusterFeed(make_node("n", cpu="4", gpus=2, model="A"))
    assert feed.cluster.ledger.alloc[0, [CPU, PODS]].tolist() == [4000, 110]
    assert feed.cluster.ledger.devices.inventory(0) == {"nvidia.com/gpu": (2, "A")}


def test_a_repeated_node_changes_nothing() -> None:
    feed = ClusterFeed(make_node("n", gpus=2, model="A"))
    head = feed.cluster.ledger.head
    feed.node(make_node("n", gpus=2, model="A"), MODIFIED)
    assert feed.cluster.ledger.head == head


def test_a_repeated_node_with_more_devices_than_managed_changes_nothing() -> None:
    feed = ClusterFeed(make_node("n", gpus=10, resources={NIC: "10"}), config=BOTH)
    head = feed.cluster.ledger.head
    feed.node(make_node("n", gpus=10, resources={NIC: "10"}), MODIFIED)
    assert (feed.cluster.ledger.head, len(free_devices(feed))) == (head, 16)


@pytest.mark.parametrize(
    ("change", "cure"),
    [
        (make_node("n", cpu="16"), Cure.NODE_GREW),
        (make_node("n", gpus=1), Cure.NODE_GREW),
        (make_node("n", labels={"a": "b"}), Cure.NODE_LABELS),
        (make_node("n", unschedulable=True), Cure.NODE_TAINTS),
    ],
)
def test_each_change_of_a_node_has_its_possible_cures(change: bytes, cure: Cure) -> None:
    feed = ClusterFeed(make_node("n"))
    feed.cluster.changes.clear()
    feed.node(change, MODIFIED)
    assert feed.cluster.changes.cures == cure


def test_a_node_that_moves_to_another_zone_keeps_its_pods() -> None:
    feed = ClusterFeed(make_node("n", zone="a"))
    feed.pod(make_pod("p", node="n", cpu="1"))
    feed.node(make_node("n", zone="b"), MODIFIED)
    assert (feed.used("n"), feed.cluster.nodes.zones[feed.slot("n")]) == (1000, "b")
    assert check_all(feed.cluster) == []


@pytest.mark.parametrize(("pods", "lane"), [((), 1), ((make_pod("p", node="n"),), 0)])
def test_an_empty_node_that_falls_to_a_shard_lies_with_its_own(
    pods: tuple[bytes, ...], lane: int
) -> None:
    feed = ClusterFeed(make_node("n"), config=ClusterConfig(shard="a"))
    for pod in pods:
        feed.pod(pod)
    feed.node(make_node("n", annotations={OWNER: "a"}), MODIFIED)
    assert feed.cluster.ledger.slots.lane_of(feed.slot("n")) == lane
    assert check_all(feed.cluster) == []


def test_a_namesake_is_another_node_with_another_generation() -> None:
    feed = ClusterFeed(make_node("n"))
    before = int(feed.cluster.ledger.slots.generation[feed.slot("n")])
    feed.node(make_node("n"), uid="another")
    assert feed.cluster.ledger.slots.generation[feed.slot("n")] > before
    assert feed.cluster.ledger.slots.live.sum() == 1


def test_pods_of_a_lost_node_are_strays_until_it_comes_back() -> None:
    feed = ClusterFeed(make_node("n"))
    feed.pod(make_pod("p", node="n", cpu="1"))
    feed.lose("n")
    assert feed.cluster.node_of(feed.row("p")) == "n"
    feed.node(make_node("n"))
    assert feed.used("n") == 1000


def test_a_terminating_pod_stays_an_eviction_of_its_node_when_the_node_returns() -> None:
    feed = ClusterFeed(make_node("n"))
    feed.pod(make_pod("p", node="n", cpu="1"), deleting="2026-01-01T00:00:00Z")
    feed.lose("n")
    feed.node(make_node("last"))
    feed.node(make_node("n"))
    assert feed.cluster.evictions.on_slot(feed.slot("n")) == [feed.row("p")]


def test_a_terminating_pod_of_an_unknown_node_is_an_eviction_once_the_node_is_known() -> None:
    feed = ClusterFeed()
    feed.pod(make_pod("p", node="n", cpu="1"), deleting="2026-01-01T00:00:00Z")
    feed.node(make_node("n"))
    assert feed.cluster.evictions.on_slot(feed.slot("n")) == [feed.row("p")]
    assert check_all(feed.cluster) == []


def test_a_pod_on_an_unknown_node_is_charged_when_it_comes() -> None:
    feed = ClusterFeed()
    feed.pod(make_pod("p", node="n", cpu="1", gpus=1, ports=[80]))
    feed.node(make_node("n", gpus=2))
    assert (feed.used("n"), free_devices(feed)) == (1000, [0, 1000])
    assert check_all(feed.cluster) == []


def test_a_stray_keeps_the_devices_that_its_note_names() -> None:
    feed = ClusterFeed()
    feed.pod(make_pod("p", node="n", gpus=1, annotations={"stretto.dev/gpu-devices": "1"}))
    feed.node(make_node("n", gpus=2))
    assert free_devices(feed) == [1000, 0]


def test_a_stray_that_ends_is_never_charged() -> None:
    feed = ClusterFeed()
    feed.pod(make_pod("p", node="n", cpu="1"))
    feed.ingest.end(feed.row("p"))
    feed.node(make_node("n"))
    assert feed.used("n") == 0


def test_a_pod_of_another_scheduler_gets_the_likely_devices() -> None:
    feed = ClusterFeed(make_node("n", gpus=2))
    feed.pod(make_pod("a", node="n", gpus=1, gpu_milli=300))
    feed.pod(make_pod("b", node="n", gpus=1, gpu_milli=300))
    assert free_devices(feed) == [400, 1000]


def test_a_note_that_only_mentions_devices_names_none() -> None:
    feed = ClusterFeed(make_node("n", gpus=1))
    feed.pod(make_pod("a", node="n", annotations={"x": "stretto.dev/gpu-devices"}))
    assert feed.cluster.pods.devices[feed.row("a")] == 0


def test_a_pod_of_two_kinds_of_devices_gets_both() -> None:
    feed = ClusterFeed(make_node("n", gpus=2, resources={NIC: "2"}), config=BOTH)
    feed.pod(make_pod("a", node="n", gpus=1, resources={NIC: "1"}))
    assert free_devices(feed) == [0, 1000, 0, 1000]


def test_more_devices_keep_those_in_use() -> None:
    feed = ClusterFeed(make_node("n", gpus=2))
    feed.pod(make_pod("a", node="n", gpus=1, annotations={"stretto.dev/gpu-devices": "1"}))
    feed.node(make_node("n", gpus=4), MODIFIED)
    assert free_devices(feed) == [1000, 0, 1000, 1000]


def test_a_refund_is_the_inverse_of_a_charge() -> None:
    feed = ClusterFeed(make_node("n", gpus=2))
    feed.pod(make_pod("a", node="n", gpus=2, ports=[80]))
    feed.cluster.charges.refund(feed.row("a"))
    assert (feed.used("n"), free_devices(feed)) == (0, [1000, 1000])
    assert not feed.cluster.ledger.ports.used.any()


def test_many_plain_pods_are_charged_at_once_as_one_by_one() -> None:
    feed = ClusterFeed(make_node("a"), make_node("b"))
    for name in "pqr":
        feed.pod(make_pod(name, cpu="1"))
    rows, slots = np.array([0, 1, 2]), np.array([0, 0, 1], np.int32)
    feed.cluster.charges.charge_plain(rows, slots)
    assert (feed.used("a"), feed.used("b")) == (2000, 1000)
    feed.cluster.charges.uncharge_plain(rows, slots)
    assert (feed.used("a"), feed.used("b"), check_all(feed.cluster)) == (0, 0, [])


@pytest.mark.parametrize("amount", ["-1", "9E"])
def test_a_node_with_absurd_amounts_fails_alone(amount: str) -> None:
    feed = ClusterFeed(make_node("n"), make_node("bad", resources={"x.io/a": amount}))
    assert list(feed.cluster.nodes.by_name) == ["n"]
    assert "status.allocatable" in feed.cluster.abnormal["node bad"]


def test_a_node_of_one_model_too_many_changes_nothing() -> None:
    feed = ClusterFeed()
    for number in range(MAX_MODELS):
        feed.cluster.ledger.devices.model_number(f"m{number}")
    feed.node(make_node("n", gpus=1, model="one more"))
    assert (len(feed.cluster.nodes), feed.cluster.ledger.slots.live.sum()) == (0, 0)
    assert "at most 62" in feed.cluster.abnormal["node n"]


def test_listeners_get_every_slot_with_a_changed_node() -> None:
    feed, heard = ClusterFeed(), list[int]()
    feed.cluster.node_updates.listeners.append(lambda slots: heard.extend(slots.tolist()))
    feed.node(make_node("n"))
    feed.node(make_node("n", labels={"a": "b"}), MODIFIED)
    feed.lose("n")
    assert heard == [0, 0, 0]


def test_removing_a_node_that_is_not_there_does_nothing() -> None:
    cluster = Cluster()
    cluster.node_updates.remove("n")
    assert cluster.ledger.head == 0
