"""Names of resources are bounded: made-up ones in pods make no columns without end."""

import pytest

from stretto.base.errors import InputError
from stretto.state.rows.resources import MAX_NAMES, MAX_REQUESTED_NAMES, ResourceColumns
from stretto.testing import Harness, make_node, make_pod


def test_a_pod_with_one_name_too_many_is_reported_and_affects_no_other() -> None:
    harness = Harness(
        nodes=[make_node("n", resources={"x.io/real": "4"})], config={"tier": "numpy"}
    )
    junk = [
        make_pod(f"j{i}", resources={f"junk.io/r{i}": "1"}) for i in range(MAX_REQUESTED_NAMES + 20)
    ]
    harness.submit(*junk, make_pod("good", resources={"x.io/real": "1"}))
    harness.settle()
    cluster = harness.plane.cluster
    assert harness.node_of("good") == "n"
    assert len(cluster.ledger.resources) == MAX_REQUESTED_NAMES
    complaint = cluster.abnormal[f"pod default/j{MAX_REQUESTED_NAMES + 19}"]
    assert "junk.io/r" in complaint
    assert "add a node that offers it" in complaint


def test_a_known_name_corrects_a_pod() -> None:
    resources = ResourceColumns()
    for i in range(MAX_REQUESTED_NAMES):
        resources.column(f"r{i}")
    assert resources.requested("r7", "pod p") == resources.column("r7")
    with pytest.raises(InputError, match="pod p: got 'new'"):
        resources.requested("new", "pod p")


def test_a_node_with_too_many_names_is_left_out_alone() -> None:
    many = {f"n.io/r{i}": "1" for i in range(MAX_NAMES + 1)}
    nodes = [make_node("good"), make_node("bad", resources=many)]
    harness = Harness(nodes=nodes, config={"tier": "numpy"})
    harness.submit(make_pod("p"))
    harness.settle()
    assert harness.node_of("p") == "good"
    assert "node bad: status.allocatable" in harness.plane.cluster.abnormal["node bad"]
    assert len(harness.plane.cluster.ledger.resources) == MAX_NAMES
