"""The status of a NodeOvercommitConfig lists the nodes of its pool."""

import json

import pytest

from stretto.api.wire.kinds import NODE, NODE_OVERCOMMIT_CONFIG
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.capacity.overcommit.matched import MatchedNodesController
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_node


class OvercommittedCluster:
    """Two nodes of a pool, one of another, and a configuration."""

    def __init__(self) -> None:
        clock = ManualClock()
        self.store = MemoryStore(clock, Rng(0))
        pools = {"a": "web", "b": "web", "c": "batch"}
        self.store.create(NODE, [make_node(n, labels={POOL_LABEL: p}) for n, p in pools.items()])
        self.loop = ReconcileLoop(clock)
        self.loop.add_controllers([MatchedNodesController(self.loop.add_store("s", self.store))])

    def config(self, name: str, pool: str) -> None:
        ratios = {"cpu": "2", "memory": "1"}
        spec = {"nodeOvercommitSelectorVal": pool, "resourceOvercommitRatio": ratios}
        body = {"metadata": {"name": name}, "spec": spec}
        self.store.create(NODE_OVERCOMMIT_CONFIG, [json.dumps(body).encode()])

    def move(self, node: str, pool: str | None) -> None:
        change = {"metadata": {"labels": {POOL_LABEL: pool}}}
        self.store.patch(NODE, [Patch("", node, change)])

    def matched(self, name: str = "web") -> list[str]:
        self.loop.step()
        record = self.store.get(NODE_OVERCOMMIT_CONFIG, "", name)
        assert record is not None
        found: list[str] = json.loads(render(record)).get("status", {}).get("matchedNodeList", [])
        return found


@pytest.fixture
def cluster() -> OvercommittedCluster:
    found = OvercommittedCluster()
    found.config("web", "web")
    return found


def test_the_nodes_of_the_pool_are_listed_by_name(cluster: OvercommittedCluster) -> None:
    assert cluster.matched() == ["a", "b"]


def test_a_node_that_changes_its_pool_changes_both_lists(cluster: OvercommittedCluster) -> None:
    cluster.config("batch", "batch")
    cluster.matched()
    cluster.move("b", "batch")
    assert (cluster.matched(), cluster.matched("batch")) == (["a"], ["b", "c"])


def test_deleted_nodes_leave_the_list_and_the_last_one_empties_it(
    cluster: OvercommittedCluster,
) -> None:
    cluster.matched()
    cluster.store.delete(NODE, [Deletion("", "a")])
    assert cluster.matched() == ["b"]
    cluster.move("b", None)
    assert cluster.matched() == []


def test_two_configurations_of_a_pool_both_list_its_nodes(cluster: OvercommittedCluster) -> None:
    cluster.config("strict", "web")
    assert cluster.matched("strict") == cluster.matched() == ["a", "b"]


def test_a_configuration_without_a_pool_concerns_no_node(cluster: OvercommittedCluster) -> None:
    cluster.config("none", "")
    assert cluster.matched("none") == []


def test_an_unchanged_list_is_not_written_again(cluster: OvercommittedCluster) -> None:
    cluster.matched()
    before = cluster.store.version
    cluster.store.patch(NODE, [Patch("", "a", {"metadata": {"labels": {"x": "y"}}})])
    cluster.matched()
    assert cluster.store.version == before + 1
