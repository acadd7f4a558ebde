"""Machines said in one word, and a few picked out of many."""

import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.neutral.shapes import matching_nodes, nodes_like

FLEET = tuple(FleetNode(f"n-{i}", 1000, 1024, 8 * (i % 2), "G2" * (i % 2)) for i in range(6))


def test_a_shape_and_a_count_make_nodes() -> None:
    nodes = nodes_like("64cpu-256gib:200")
    assert len(nodes) == 200
    assert nodes[7] == FleetNode("node-0007", 64000, 262144)


def test_shapes_are_joined_by_commas_and_may_have_gpus() -> None:
    nodes = nodes_like("4cpu-8gib,96cpu-768gib-8gpu-G2:2")
    assert [(node.name, node.gpus, node.gpu_model) for node in nodes] == [
        ("node-0000", 0, ""),
        ("node-0001", 8, "G2"),
        ("node-0002", 8, "G2"),
    ]


@pytest.mark.parametrize("text", ["", "64cpu", "64cpu-256gib:", "64cpu-256gib:-1", "big:3"])
def test_a_shape_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a shape and a count such as 64cpu-256gib:200"):
        nodes_like(text)


@pytest.mark.parametrize("text", ["0cpu-1gib", "999999cpu-1gib", "1cpu-1gib-17gpu"])
def test_an_absurd_shape_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"expected 1\.\.10000 cpu"):
        nodes_like(text)


@pytest.mark.parametrize("text", ["1cpu-1gib:0", "1cpu-1gib:1000001"])
def test_an_absurd_number_of_nodes_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"expected 1\.\.1,000,000 nodes in all"):
        nodes_like(text)


def test_a_filter_keeps_the_nodes_that_have_every_value() -> None:
    assert [node.name for node in matching_nodes(FLEET, "model=G2,gpu=8", 2)] == ["n-1", "n-3"]


def test_no_filter_keeps_all() -> None:
    assert matching_nodes(FLEET, "") == FLEET


def test_an_unknown_key_of_a_filter_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown node filter key 'modle'; did you mean mod"):
        matching_nodes(FLEET, "modle=G2")


def test_a_filter_that_no_node_matches_is_refused() -> None:
    with pytest.raises(InputError, match="expected a filter that some node matches"):
        matching_nodes(FLEET, "model=H100")


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(InputError, match="expected a count of at least 1"):
        matching_nodes(FLEET, "", limit)
