"""Nodes are shared out by what they give, in every zone, and seldom change hands."""

from collections import Counter

from stretto.api.wire.kinds import NM_NODE, NODE
from stretto.testing import make_node
from tests.unit.daemons.roles.rig import Rig, names


def owners(rig: Rig) -> dict[str, str]:
    """The shard of each node."""
    nodes = [record.name for record in rig.store.list(NODE).records]
    return {node: rig.notes(node, NODE).get("scheduler-name", "") for node in nodes}


def a_rig(*shards: str, **more: float) -> Rig:
    """Shards that nodes are shared out to."""
    return Rig(*shards, shares_nodes=True, **more)


def test_shares_are_equal_in_what_nodes_give_and_not_in_their_number() -> None:
    rig = a_rig("a", "b")
    rig.nodes(make_node("big", cpu="64", memory="256Gi"))
    rig.nodes(*(make_node(name, cpu="16", memory="64Gi") for name in names("n", 4)))
    rig.run(3.0)
    big = owners(rig).pop("big")
    assert Counter(owners(rig).values()) == {big: 1, "ab".replace(big, ""): 4}


def test_every_shard_has_nodes_of_every_zone() -> None:
    rig = a_rig("a", "b")
    rig.nodes(*(make_node(f"n{i}", zone=f"z{i % 3}") for i in range(12)))
    rig.run(3.0)
    found = owners(rig)
    for zone in range(3):
        assert Counter(found[f"n{i}"] for i in range(zone, 12, 3)) == {"a": 2, "b": 2}


def test_a_shard_that_comes_takes_its_part_and_nothing_else_moves() -> None:
    rig = a_rig("a", "b")
    rig.nodes(*(make_node(name) for name in names("n", 30)))
    rig.run(3.0)
    before = owners(rig)
    rig.start("c")
    rig.run(125.0)
    moved = [node for node, shard in owners(rig).items() if shard != before[node]]
    assert Counter(owners(rig).values()) == {"a": 10, "b": 10, "c": 10}
    assert len(moved) == 10


def test_a_dead_shards_nodes_go_to_the_others_and_theirs_stay() -> None:
    rig = a_rig("a", "b", "c", dead_after=20.0)
    rig.nodes(*(make_node(name) for name in names("n", 30)))
    rig.run(3.0)
    before = owners(rig)
    rig.stop("c")
    rig.run(90.0)
    after = owners(rig)
    assert Counter(after.values()) == {"a": 15, "b": 15}
    assert all(after[node] == shard for node, shard in before.items() if shard != "c")


def test_a_few_nodes_that_come_and_go_move_no_other() -> None:
    rig = a_rig("a", "b")
    rig.nodes(*(make_node(name) for name in names("n", 60)))
    rig.run(3.0)
    before = owners(rig)
    rig.delete(NODE, "n-1", "n-5")
    rig.nodes(*(make_node(name, cpu="64") for name in names("new", 2)))
    rig.run(125.0)
    after = owners(rig)
    assert all(after.get(node, shard) == shard for node, shard in before.items())


def test_more_nodes_than_one_write_holds_are_divided_without_a_pause() -> None:
    rig = a_rig("a", "b")
    rig.nodes(*(make_node(name, cpu=str(1 + i % 9)) for i, name in enumerate(names("n", 300))))
    rig.run(5.0)
    assert sorted(Counter(owners(rig).values())) == ["a", "b"]


def test_a_machine_without_a_kubelet_is_in_no_share() -> None:
    rig = a_rig("a", "b")
    rig.nodes(make_node("n"))
    rig.put(NM_NODE, b'{"kind": "NMNode", "metadata": {"name": "m"}}')
    rig.run(3.0)
    before = rig.store.list(NODE).version
    rig.run(5.0)
    assert list(owners(rig)) == ["n"]
    assert rig.store.list(NODE).version == before
