"""Nodes of a state as rows of a list."""

import json

from stretto.api.wire.kinds import NODE
from stretto.explain.inventory.nodes import NodeRow, node_rows
from stretto.explain.why.sources.live import live_scene
from stretto.testing import Harness, make_node, make_pod


def rows_of(harness: Harness) -> list[NodeRow]:
    """The rows of all nodes of a cluster."""
    harness.settle()
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views)
    return node_rows(scene, harness.store.list(NODE).records)


def node(name: str, ready: str, *, cordoned: bool = False) -> bytes:
    """A node with a condition ``Ready``."""
    document = json.loads(make_node(name, unschedulable=cordoned))
    document["status"]["conditions"] = [{"type": "Ready", "status": ready}]
    return json.dumps(document).encode()


def test_gpus_are_resources_of_a_node() -> None:
    harness = Harness(nodes=[make_node("n1", gpus=8)])
    harness.submit(make_pod("train", gpus=3), make_pod("serve", gpus=1, gpu_milli=500))
    (row,) = rows_of(harness)
    use = row.resources["nvidia.com/gpu"]
    assert (use.allocatable, use.requested, use.pct) == ("8", "3500m", 43.75)


def test_a_status_names_a_node_that_is_not_ready() -> None:
    nodes = [node("a", "True"), node("b", "Unknown"), node("c", "False", cordoned=True)]
    rows = rows_of(Harness(nodes=[*nodes, make_node("d", unschedulable=True)]))
    expected = ["ready", "not ready", "not ready, cordoned", "cordoned"]
    assert [each.status for each in rows] == expected
    assert [each.cordoned for each in rows] == [False, False, True, True]


def test_a_row_has_the_taints_of_its_node() -> None:
    taints = [{"key": "broken", "value": "fan", "effect": "NoSchedule"}]
    (row,) = rows_of(Harness(nodes=[make_node("n1", taints=taints)]))
    assert row.taints == ("broken=fan:NoSchedule",)
