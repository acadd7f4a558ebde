"""Tidal pools in a cluster with a scheduler: nodes switch by need, with the least harm."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.table import all_kinds
from stretto.api.wire.kinds import EVENT, NODE, POD, POD_DISRUPTION_BUDGET, TIDE_NODE_POOL, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.capacity.tides.controller import TideController
from stretto.capacity.tides.pool import POD_TYPE, SWITCHED
from stretto.capacity.tides.words import NodeSwitch
from stretto.plane.placements import PlacementTrial
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.fleet.member import EmbeddedMember
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_node, make_pod

Fields = dict[str, Any]
PREFIX = "tide.katalyst.kubewharf.io"
OFFLINE = {f"{PREFIX}/node-type": "offline"}
ONLINE = {f"{PREFIX}/node-type": "online"}


class TidalCluster:
    """Nodes of four cores, all of one pool."""

    def __init__(self, nodes: int = 3) -> None:
        self.clock = ManualClock(1_000_000.0)
        bodies = [make_node(f"n{number}", cpu="4", labels={"pool": "t"}) for number in range(nodes)]
        self.member = EmbeddedMember("local", self.clock, Rng(0), bodies)
        self.store = self.member.store
        self.switches: list[NodeSwitch] = []
        self.start()

    def start(self) -> None:
        """Start the controller, as after a restart."""
        self.loop = ReconcileLoop(self.clock)
        cache = self.loop.add_store("local", self.store)
        trial = PlacementTrial(
            self.member.plane.config,
            lambda: [each for kind in all_kinds() for each in self.store.list(kind).records],
        )
        note = self.switches.append
        self.loop.add_controllers([TideController(cache, self.clock, trial.placed, note)])

    def pool(self, annotations: dict[str, str] | None = None, **configs: Any) -> None:
        configs = {"nodeSelector": {"pool": "t"}, **configs}
        body = {
            "metadata": {"name": "tidal", "annotations": annotations or {}},
            "spec": {"nodeConfigs": configs, "evictStrategy": {"type": "watermark"}},
        }
        (reply,) = self.store.create(TIDE_NODE_POOL, [msgspec.json.encode(body)])
        assert reply.record is not None, reply.message

    def pods(self, side: dict[str, str], *names: str, **more: Any) -> None:
        labels = {POD_TYPE: "online"} if side is ONLINE else {}
        taint = "offline-not-used" if side is ONLINE else "online-not-used"
        toleration = {"key": f"{PREFIX}/{taint}", "operator": "Exists"}
        spec = {"nodeSelector": side, "tolerations": [toleration]}
        options = {"cpu": "3", "scheduler": "default-scheduler", "labels": labels, **more}
        self.store.create(POD, [make_pod(name, spec=spec, **options) for name in names])

    def end(self, *names: str) -> None:
        self.store.delete(POD, [Deletion("default", name) for name in names])

    def run(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            while self.loop.step() or self.member.step():
                pass
            self.clock.advance(10.0)

    def read(self, kind: Kind) -> dict[str, Fields]:
        found = [msgspec.json.decode(render(each)) for each in self.store.list(kind).records]
        return {each["metadata"]["name"]: each for each in found}

    def sides(self) -> str:
        """Of each node, by name: N online, F offline, capital letters for reserved nodes."""
        return "".join(map(_side, self.read(NODE).values()))

    def on_nodes(self) -> set[str]:
        return {name for name, each in self.read(POD).items() if each["spec"].get("nodeName")}

    def switched(self) -> int:
        return sum(each["reason"].startswith("Switched") for each in self.read(EVENT).values())


def _side(node: Fields) -> str:
    labels = node["metadata"]["labels"]
    side = {"online": "n", "offline": "f"}[labels[f"{PREFIX}/node-type"]]
    return side.upper() if labels[f"{PREFIX}/reserve"] == "true" else side


def taints(node: Fields) -> set[tuple[str, str]]:
    return {(each["key"], each["effect"]) for each in node["spec"].get("taints") or ()}


@pytest.fixture
def cluster() -> TidalCluster:
    return TidalCluster()


def ebbed(cluster: TidalCluster, **configs: Any) -> TidalCluster:
    """The same cluster, once all nodes without a reserve are offline."""
    cluster.pool(**configs)
    cluster.run(800)
    return cluster


def test_new_nodes_fill_the_reserves_and_the_others_begin_online() -> None:
    cluster = TidalCluster(6)
    cluster.pool(reserve={"online": "25%", "offline": "25%"})
    cluster.run(10)
    assert cluster.sides() == "NNFnnn"
    status = cluster.read(TIDE_NODE_POOL)["tidal"]["status"]
    assert status["reserveNodes"] == {"onlineNodes": ["n0", "n1"], "offlineNodes": ["n2"]}
    assert status["tideNodes"] == {"nodes": ["n3", "n4", "n5"]}


def test_nodes_without_online_pods_become_offline_one_after_another(cluster: TidalCluster) -> None:
    cluster.pool()
    cluster.run(595)
    assert cluster.sides() == "nnn"
    cluster.run(100)
    assert cluster.sides() == "fff"
    assert taints(cluster.read(NODE)["n0"]) == {(f"{PREFIX}/online-not-used", "NoExecute")}


def test_a_node_becomes_online_for_a_pending_online_pod(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(ONLINE, "web")
    cluster.run(60)
    assert cluster.sides() == "nff"
    assert cluster.on_nodes() == {"web"}
    assert taints(cluster.read(NODE)["n0"]) == {(f"{PREFIX}/offline-not-used", "NoExecute")}


def test_the_node_with_the_least_offline_work_switches(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(OFFLINE, "a", "b")
    cluster.run(10)
    cluster.pods(ONLINE, "web")
    cluster.run(60)
    assert cluster.on_nodes() == {"a", "b", "web"}


def test_offline_pods_are_evicted_where_online_pods_need_the_node(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(OFFLINE, "a", "b", "c")
    cluster.run(10)
    cluster.pods(ONLINE, "web")
    cluster.run(60)
    assert sorted(cluster.sides()) == ["f", "f", "n"]
    assert len(cluster.on_nodes()) == 3


def test_no_node_switches_for_a_pod_that_fits_nowhere(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(ONLINE, "huge", cpu="64")
    cluster.run(300)
    assert cluster.sides() == "fff"


def test_several_pods_share_the_nodes_that_switch(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(ONLINE, "a", "b", "c", "d", cpu="1")
    cluster.run(60)
    assert cluster.sides() == "nff"


def test_a_budget_delays_the_switch_until_the_pod_may_go(cluster: TidalCluster) -> None:
    ebbed(cluster, reserve={"offline": 2}).pods(OFFLINE, "a", "b", "c", labels={"app": "batch"})
    budget = {"minAvailable": 3, "selector": {"matchLabels": {"app": "batch"}}}
    body = {"metadata": {"name": "keep"}, "spec": budget}
    cluster.store.create(POD_DISRUPTION_BUDGET, [msgspec.json.encode(body)])
    cluster.run(10)
    cluster.pods(ONLINE, "web")
    cluster.run(120)
    assert cluster.on_nodes() == {"a", "b", "c"}
    cluster.store.delete(POD_DISRUPTION_BUDGET, [Deletion("default", "keep")])
    cluster.run(60)
    assert "web" in cluster.on_nodes()


def test_a_pod_of_higher_priority_is_not_evicted(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(OFFLINE, "a", "b", "c", priority=100)
    cluster.run(10)
    cluster.pods(ONLINE, "web", priority=10)
    cluster.run(120)
    assert cluster.sides() == "fff"


def test_a_pod_that_must_not_be_preempted_keeps_its_node(cluster: TidalCluster) -> None:
    never = {"godel.bytedance.com/can-be-preempted": "false"}
    ebbed(cluster).pods(OFFLINE, "a", "b", "c", annotations=never)
    cluster.run(10)
    cluster.pods(ONLINE, "web")
    cluster.run(120)
    assert cluster.on_nodes() == {"a", "b", "c"}


def test_short_lulls_switch_no_node_back(cluster: TidalCluster) -> None:
    ebbed(cluster)
    before = cluster.switched()
    for number in range(6):
        cluster.pods(ONLINE, f"web-{number}")
        cluster.run(200)
        cluster.end(f"web-{number}")
        cluster.run(300)
    assert cluster.switched() == before + 1


def test_online_and_offline_pods_never_evict_each_other_by_turns(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(OFFLINE, "a", "b", "c", "d", "e")
    cluster.pods(ONLINE, "web")
    cluster.run(100)
    before = cluster.switched()
    cluster.run(3000)
    assert cluster.switched() == before


def test_no_more_nodes_switch_at_once_than_the_pool_allows() -> None:
    cluster = TidalCluster(10)
    cluster.pool({"tide.stretto.dev/max-switching": "20%"})
    cluster.run(610)
    assert cluster.sides().count("f") == 2


def test_a_pool_that_forbids_switches_makes_none(cluster: TidalCluster) -> None:
    cluster.pool({"tide.stretto.dev/max-switching": "0"})
    cluster.run(900)
    assert cluster.sides() == "nnn"


@pytest.mark.parametrize(
    ("annotations", "configs"),
    [
        ({}, {"reserve": {"online": "half"}}),
        ({"tide.stretto.dev/hold-seconds": "soon"}, {}),
        ({}, {"reserve": [1]}),
    ],
)
def test_a_pool_that_the_server_should_have_refused_gets_a_warning_and_changes_no_node(
    cluster: TidalCluster, annotations: dict[str, str], configs: dict[str, Any]
) -> None:
    cluster.pool(annotations, **configs)
    cluster.run(30)
    assert [each["reason"] for each in cluster.read(EVENT).values()] == ["InvalidPool"]
    assert not any("tide" in key for key in cluster.read(NODE)["n0"]["metadata"]["labels"])


def test_a_restart_continues_a_switch(cluster: TidalCluster) -> None:
    ebbed(cluster).pods(OFFLINE, "a", "b", "c")
    cluster.run(10)
    cluster.pods(ONLINE, "web")
    while "n" not in cluster.sides():
        cluster.run(10)
    cluster.start()
    cluster.run(60)
    assert cluster.sides().count("n") == 1
    assert "web" in cluster.on_nodes()


def test_a_deleted_pool_leaves_no_trace_on_its_nodes(cluster: TidalCluster) -> None:
    ebbed(cluster)
    cluster.store.delete(TIDE_NODE_POOL, [Deletion("", "tidal")])
    cluster.run(10)
    node = cluster.read(NODE)["n0"]
    assert not any(key.startswith(PREFIX) for key in node["metadata"]["labels"])
    assert (taints(node), SWITCHED in node["metadata"].get("annotations", {})) == (set(), False)
    assert cluster.read(TIDE_NODE_POOL) == {}


def test_a_pool_that_became_invalid_can_be_deleted(cluster: TidalCluster) -> None:
    ebbed(cluster)
    change = {"spec": {"nodeConfigs": {"reserve": {"online": "half"}}}}
    cluster.store.patch(TIDE_NODE_POOL, [Patch("", "tidal", change)])
    cluster.store.delete(TIDE_NODE_POOL, [Deletion("", "tidal")])
    cluster.run(10)
    assert (cluster.read(TIDE_NODE_POOL), taints(cluster.read(NODE)["n0"])) == ({}, set())


def test_a_node_that_leaves_the_selector_leaves_the_pool(cluster: TidalCluster) -> None:
    cluster.pool()
    cluster.run(10)
    cluster.store.patch(NODE, [Patch("", "n1", {"metadata": {"labels": {"pool": None}}})])
    cluster.run(10)
    assert not any(key.startswith(PREFIX) for key in cluster.read(NODE)["n1"]["metadata"]["labels"])


def test_taints_and_labels_of_others_stay(cluster: TidalCluster) -> None:
    taint = {"key": "example.com/slow", "value": "", "effect": "PreferNoSchedule"}
    cluster.store.patch(NODE, [Patch("", "n0", {"spec": {"taints": [taint]}})])
    ebbed(cluster)
    node = cluster.read(NODE)["n0"]
    assert ("example.com/slow", "PreferNoSchedule") in taints(node)
    assert node["metadata"]["labels"]["pool"] == "t"


def test_a_larger_reserve_is_filled_with_nodes_of_its_side(cluster: TidalCluster) -> None:
    cluster.pool()
    cluster.run(10)
    change = {"spec": {"nodeConfigs": {"reserve": {"online": 1}}}}
    cluster.store.patch(TIDE_NODE_POOL, [Patch("", "tidal", change)])
    cluster.run(10)
    assert cluster.sides() == "Nnn"


def test_labels_of_the_pool_replace_those_of_katalyst(cluster: TidalCluster) -> None:
    label = {"key": "example.com/side", "value": "day"}
    cluster.pool(onlineLabel=label)
    cluster.run(10)
    assert cluster.read(NODE)["n0"]["metadata"]["labels"]["example.com/side"] == "day"
