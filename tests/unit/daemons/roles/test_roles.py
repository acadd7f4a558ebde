"""Daemons that hand over through annotations place what one process would place."""

import pytest

from stretto.api.wire.kinds import MOVEMENT, NODE, POD, POD_GROUP
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.state.rows.resources import CPU
from stretto.state.work.rescheduling import ReschedulingGoal, ReschedulingRules
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, names


def owner_of(rig: Rig, node: str) -> str:
    """In whose share a node is."""
    return rig.notes(node, NODE)["scheduler-name"]


def test_a_pod_is_handed_from_the_dispatcher_to_a_shard_to_the_binder() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    rig.pods(make_pod("web"))
    rig.settle()
    notes = rig.notes("web")
    assert rig.node_of("web") == "n1"
    assert (notes["selected-scheduler"], notes["assumed-node"]) == ("a", "n1")
    assert notes["pod-state"] == "assumed"


def test_work_is_shared_among_shards() -> None:
    rig = Rig("a", "b", "c")
    rig.nodes(*(make_node(name) for name in names("n", 3)))
    rig.pods(*(make_pod(name) for name in names("p", 30)))
    rig.settle()
    tried = [rig.notes(name)["selected-scheduler"] for name in names("p", 30)]
    assert len(rig.bound()) == 30
    assert {tried.count(shard) for shard in "abc"} == {10}


def test_a_gang_is_bound_whole_or_waits() -> None:
    rig = Rig("a", "b")
    rig.nodes(make_node("n1", cpu="2"))
    rig.groups(make_group("g", 3))
    rig.pods(*(make_pod(name, cpu="1", group="g") for name in names("g", 3)))
    rig.settle()
    assert rig.bound() == {}
    rig.nodes(make_node("n2", cpu="2"))
    rig.run(3.0)
    assert len(rig.bound()) == 3
    lock = rig.shown(POD_GROUP, "g", "default")["metadata"]["annotations"]
    assert lock["godel.bytedance.com/podgroup-final-op-lock"] == "binder"
    assert rig.shown(POD_GROUP, "g", "default")["status"]["phase"] == "Scheduled"


def test_what_contradicts_itself_is_put_right() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    state, shard = "godel.bytedance.com/pod-state", "godel.bytedance.com/selected-scheduler"
    rig.pods(
        make_pod("no-shard", annotations={state: "dispatched"}),
        make_pod("weird", annotations={state: "flying"}),
        make_pod("no-node", annotations={state: "assumed", shard: "a"}),
    )
    rig.settle()
    assert set(rig.bound()) == {"no-shard", "weird", "no-node"}


def test_a_pod_of_a_shard_that_never_comes_is_taken_back() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"))
    notes = {"pod-state": "dispatched", "selected-scheduler": "ghost"}
    notes = {f"godel.bytedance.com/{key}": text for key, text in notes.items()}
    rig.pods(make_pod("lost", annotations=notes))
    rig.run(10.0)
    assert rig.node_of("lost") == ""
    rig.run(130.0, step=5.0)
    assert rig.node_of("lost") == "n1"


def test_the_pods_of_a_dead_shard_are_placed_by_others_within_its_time() -> None:
    rig = Rig("a", "b", dead_after=20.0)
    rig.nodes(make_node("n1"))
    rig.settle()
    rig.stop("b")
    rig.pods(*(make_pod(name) for name in names("p", 6)))
    rig.run(10.0)
    assert len(rig.bound()) == 3
    rig.run(22.0)
    assert len(rig.bound()) == 6
    assert rig.schedulers() == ["a"]


def test_a_cordon_between_decision_and_binding_is_seen() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1"), make_node("n2", cpu="1"))
    rig.stop("binder")
    rig.pods(make_pod("web", cpu="500m"))
    rig.settle()
    chosen = rig.notes("web")["assumed-node"]
    rig.change(NODE, chosen, {"spec": {"unschedulable": True}})
    rig.start("binder")
    rig.run(2.0)
    assert rig.node_of("web") == ({"n1", "n2"} - {chosen}).pop()


def test_capacity_that_another_scheduler_took_is_not_given_twice() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="2"))
    rig.stop("binder")
    rig.pods(make_pod("web", cpu="2"))
    rig.settle()
    rig.pods(make_pod("intruder", cpu="2", node="n1", scheduler="other"))
    rig.start("binder")
    rig.run(3.0)
    assert rig.node_of("web") == ""
    assert "assumed-node" not in rig.notes("web")
    rig.delete(POD, "intruder", namespace="default")
    rig.run(40.0)
    assert rig.node_of("web") == "n1"


def test_a_pod_deleted_before_its_bind_holds_no_capacity_while_it_terminates() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="2"))
    rig.settle()
    rig.stop("binder")
    rig.pods(make_pod("web", cpu="2"))
    rig.settle()
    rig.change(POD, "web", {"metadata": {"finalizers": ["example.com/kept"]}}, "default")
    rig.delete(POD, "web", namespace="default")
    rig.start("binder")
    rig.pods(make_pod("next", cpu="2"))
    rig.run(5.0)
    assert rig.bound() == {"next": "n1"}


def test_a_preemptor_names_its_victims_and_the_binder_evicts_them() -> None:
    rig = Rig("a")
    rig.nodes(make_node("n1", cpu="2"))
    rig.pods(make_pod("cheap", cpu="2", priority=1))
    rig.settle()
    rig.clock.advance(100.0)
    rig.pods(make_pod("dear", cpu="2", priority=100))
    rig.run(5.0)
    assert rig.bound() == {"dear": "n1"}
    assert '"cheap"' in rig.notes("dear")["nominated-node"]


def test_without_preemption_a_misfit_goes_back_and_is_not_tried_hot() -> None:
    rig = Rig("a", preempts=False)
    rig.nodes(make_node("n1", cpu="1"))
    rig.pods(make_pod("big", cpu="4"))
    rig.settle()
    notes, version = rig.notes("big"), rig.store.list(POD).version
    assert (notes["pod-state"], notes["failed-schedulers"]) == ("pending", "a")
    rig.run(30.0)
    assert rig.store.list(POD).version - version < 30
    rig.nodes(make_node("n2", cpu="8"))
    rig.run(2.0)
    assert rig.node_of("big") == "n2"


def test_nodes_are_shared_out_by_annotation_and_again_when_a_shard_dies() -> None:
    rig = Rig("a", "b", dead_after=20.0, shares_nodes=True)
    rig.nodes(*(make_node(name) for name in names("n", 6)))
    rig.run(3.0)
    assert sorted(owner_of(rig, n) for n in names("n", 6)) == ["a"] * 3 + ["b"] * 3
    rig.stop("b")
    rig.run(60.0)
    assert [owner_of(rig, n) for n in names("n", 6)] == ["a"] * 6


def test_the_controller_alone_moves_pods_where_the_profile_states_it() -> None:
    rig = Rig("a", rescheduling=ReschedulingRules(every=10.0, goal=ReschedulingGoal.NODES, moves=1))
    rig.nodes(make_node("n1"), make_node("n2"))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
    owner["controller"] = True
    rig.pods(make_pod("p", node="n1", owner=owner), make_pod("q", node="n2", owner=owner))
    rig.stop("controller")
    rig.run(15.0)
    assert set(rig.bound()) == {"p", "q"}
    rig.start("controller")
    rig.run(15.0)
    assert len(rig.bound()) == 1
    assert len(rig.store.list(MOVEMENT).records) == 1


def test_a_shard_keeps_the_nodes_of_its_share_in_blocks_of_their_own() -> None:
    rig = Rig("a", "b", shares_nodes=True)
    rig.nodes(*(make_node(name) for name in names("n", 100)))
    rig.run(3.0)
    own = {name: rig.roles[name].shards[0].default.runtime.own_block for name in "ab"}
    for name, blocks in own.items():
        slots = rig.roles[name].cluster.nodes.by_name
        mine = {node for node, slot in slots.items() if blocks[slot // 64]}
        assert mine == {node for node in slots if owner_of(rig, node) == name}


def test_a_shard_fills_its_own_share_first() -> None:
    rig = Rig("a", "b", shares_nodes=True)
    rig.nodes(*(make_node(name, cpu="4") for name in names("n", 10)))
    rig.run(3.0)
    rig.pods(*(make_pod(name, cpu="4") for name in names("p", 10)))
    rig.run(1.0)
    tried = {name: rig.notes(name)["selected-scheduler"] for name in names("p", 10)}
    assert {pod: owner_of(rig, node) for pod, node in rig.bound().items()} == tried


@pytest.mark.parametrize("count", [1, 8])
def test_one_to_eight_shards_place_everything(count: int) -> None:
    rig = Rig(*names("shard", count), shares_nodes=True)
    rig.nodes(*(make_node(name) for name in names("n", 4)))
    rig.pods(*(make_pod(name) for name in names("p", 40)))
    rig.run(3.0)
    assert len(rig.bound()) == 40


def test_the_shards_daemon_has_a_loop_for_each_sub_cluster() -> None:
    rule = {"name": "SubCluster", "args": {"key": "sub"}}
    plugins = {"filter": {"enabled": [{"name": "SubCluster"}]}}
    rig = Rig("a", profile={"profiles": [{"plugins": plugins, "pluginConfig": [rule]}]})
    rig.nodes(*(make_node(f"n{sub}", labels={"sub": sub}) for sub in "xy"))
    rig.pods(*(make_pod(f"p{sub}", spec={"nodeSelector": {"sub": sub}}) for sub in "xy"))
    rig.settle()
    assert rig.bound() == {"px": "nx", "py": "ny"}
    loops = [each.sub_cluster for each in rig.roles["a"].shards[0].loops]
    assert sorted(loops) == ["", "x", "y"]
    assert len(rig.roles["binder"].shards[0].loops) == 1


def test_every_role_sees_what_overcommitted_nodes_promise() -> None:
    pools = {"online": {"caps": {"cpu": 2}, "measured": False}}
    rig = Rig("a", profile={"profiles": [{"stretto": {"overcommit": {"pools": pools}}}]})
    rig.nodes(make_node("n", cpu="4", labels={POOL_LABEL: "online"}))
    rig.settle()
    given = {name: plane.cluster.ledger.alloc[0, CPU] for name, plane in rig.roles.items()}
    assert given == dict.fromkeys(rig.roles, 8000)
