"""A whole plane whose cluster is in parts, each with a scheduling loop of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import NODE
from stretto.base.errors import InputError
from stretto.cli.main import cli
from stretto.control.queues.config import QueueConfig, dispatcher_config
from stretto.daemons.metrics import metrics_of
from stretto.explain.metrics.shards import LoopFacts, WaitingWork, shard_facts
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.framework.profile.profile import Profile, load_profile
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

RULE: dict[str, Any] = {
    "plugins": {"filter": {"enabled": [{"name": "SubCluster"}]}},
    "pluginConfig": [{"name": "SubCluster", "args": {"key": "sub"}}],
}


def in_parts(**stretto: Any) -> Profile:
    return load_profile({"profiles": [{**RULE, "stretto": stretto}]})


def of(sub: str, name: str, cpu: str = "4") -> bytes:
    return make_node(name, cpu=cpu, labels={"sub": sub})


def pod(name: str, sub: str = "", queue: str = "", **form: Any) -> bytes:
    spec = {"nodeSelector": {"sub": sub}} if sub else {}
    notes = {"stretto.dev/queue": queue} if queue else {}
    return make_pod(name, spec=spec, annotations=notes, **form)


def harness(*nodes: bytes, **config: Any) -> Harness:
    there = nodes or (of("x", "nx"), of("y", "ny"), make_node("n", cpu="4"))
    profile = config.pop("profile", None) or in_parts()
    return Harness(there, profile=profile, config={"tier": "numpy", **config})


def loops_of(at: Harness) -> list[list[str]]:
    return [[loop.sub_cluster for loop in shard.loops] for shard in at.plane.shards]


@pytest.mark.parametrize("shards", [1, 3])
def test_pods_go_where_their_sub_cluster_is_and_the_others_anywhere(shards: int) -> None:
    at = harness(of("x", "nx", "9"), of("y", "ny", "9"), shards=shards, batch=2)
    at.submit(*(pod(f"{sub}{i}", sub, cpu="1") for i in range(4) for sub in "xy"))
    at.submit(*(pod(f"free{i}", cpu="1") for i in range(4)))
    at.settle(seconds=30.0)
    placed = at.placements()
    assert {placed[f"x{i}"] for i in range(4)} == {"nx"}
    assert {placed[f"y{i}"] for i in range(4)} == {"ny"}
    assert ("" in placed.values(), at.breaches(), at.plane.dispatcher.audit()) == (False, [], [])


def test_a_shard_that_dies_with_its_loops_loses_no_pod() -> None:
    at = harness()
    at.submit(pod("x0", "x"), pod("y0", "y"))
    at.plane.look()
    at.plane.shards[0].accept(at.plane.dispatcher.sender.dispatch(0.0, [9])[0])
    assert loops_of(at) == [["", "x", "y"]]
    at.plane.restart_shard(0, 0.0)
    assert loops_of(at) == [[""]]
    at.settle()
    assert at.placements() == {"x0": "nx", "y0": "ny"}


def test_a_gang_of_one_sub_cluster_or_of_several_stands_whole() -> None:
    at = harness()
    for name, subs in (("one", "xx"), ("two", "xy")):
        at.group(name, 2)
        at.submit(*(pod(f"{name}{i}", s, group=name, cpu="1") for i, s in enumerate(subs)))
    at.settle()
    assert at.placements() == {"one0": "nx", "one1": "nx", "two0": "nx", "two1": "ny"}


def test_a_gang_that_does_not_fit_its_sub_cluster_leaves_no_trace() -> None:
    at = harness()
    at.group("g", 2)
    at.submit(*(pod(f"g{i}", "x", group="g", cpu="3") for i in range(2)))
    at.settle()
    assert (set(at.placements().values()), at.plane.cluster.ledger.used.any()) == ({""}, False)


def test_preemptors_of_two_sub_clusters_evict_only_permitted_victims() -> None:
    at = harness()
    at.submit(*(pod(f"low-{sub}", sub, cpu="4", priority=1) for sub in "xy"))
    at.settle()
    at.clock.advance(100.0)
    at.submit(*(pod(f"high-{sub}", sub, cpu="4", priority=100) for sub in "xy"))
    at.settle(seconds=5.0)
    placed = at.placements()
    assert (placed["high-x"], placed["high-y"], at.breaches()) == ("nx", "ny", [])


def test_free_capacity_in_a_sub_cluster_wakes_its_waiting_unit() -> None:
    at = harness()
    at.submit(pod("a", "x", cpu="4"), pod("b", "x", cpu="4"))
    at.settle()
    assert sorted(at.placements().values()) == ["", "nx"]
    at.create(NODE, of("x", "more"))
    at.settle()
    assert sorted(at.placements().values()) == ["more", "nx"]


def test_a_node_that_changes_its_sub_cluster_serves_the_other_at_once() -> None:
    at = harness()
    at.submit(pod("a", "x", cpu="1"), pod("b", "y", cpu="4"), pod("c", "y", cpu="3"))
    at.settle()
    assert at.placements() == {"a": "nx", "b": "ny", "c": ""}
    at.store.patch(NODE, [Patch("", "nx", {"metadata": {"labels": {"sub": "y"}}})])
    at.settle()
    assert at.placements() == {"a": "nx", "b": "ny", "c": "nx"}


def test_a_flood_of_one_queue_and_sub_cluster_does_not_hold_another_up() -> None:
    queues = [QueueConfig("qx", policy="FifoSkip"), QueueConfig("qy", policy="FifoSkip")]
    profile = in_parts()
    work = dispatcher_config(profile, queues)
    nodes = [of(sub, f"n{sub}", cpu="64") for sub in "xy"]
    at = harness(*nodes, profile=profile, dispatcher=work, batch=8)
    at.submit(*(pod(f"x{i}", "x", "qx", cpu="10m") for i in range(400)))
    at.plane.step()
    at.submit(*(pod(f"y{i}", "y", "qy", cpu="10m") for i in range(8)))
    for _ in range(4):
        at.plane.step()
    placed = at.placements()
    assert all(placed[f"y{i}"] == "ny" for i in range(8))
    assert sum(bool(placed[f"x{i}"]) for i in range(400)) < 40


def test_without_a_key_there_is_one_loop() -> None:
    at = harness(profile=load_profile("default"))
    at.submit(pod("a", "x"), pod("b", "y"))
    at.settle()
    assert loops_of(at) == [[""]]


def test_rules_of_kube_scheduler_ignore_sub_clusters() -> None:
    with pytest.raises(InputError, match="neither plugins nor pluginConfig"):
        in_parts(rules="exact")


# ---------------------------------------------------------------- what is shown


def test_metrics_show_what_waits_in_each_loop() -> None:
    at = harness(batch=2)
    metrics = metrics_of(at.plane)
    at.submit(pod("a", "x"), pod("b", "x"), pod("c", "y"))
    at.plane.step()
    values = {each.name: dict(each.values) for each in metrics.families()}
    assert sum(values["stretto_loop_pods"].values()) == at.plane.shards[0].waiting
    assert set(values["stretto_loop_pods"]) == {("0", ""), ("0", "x"), ("0", "y")}
    assert values["stretto_sub_clusters_sharing"] == {("0",): 0.0}


def test_shards_are_shown_with_their_loops() -> None:
    at = harness()
    at.submit(pod("a", "x"), pod("b", "x"), pod("c", "nowhere"), pod("d"))
    at.plane.look()
    work = WaitingWork(at.plane.units, at.plane.sub_clusters)
    (shard,) = shard_facts(at.plane.cluster, [0], work=work)
    assert shard.loops == (LoopFacts("", 3, 2), LoopFacts("x", 1, 2))


@pytest.mark.parametrize(("sub", "loop"), [("x", "x"), ("nowhere", ""), ("", "")])
def test_explain_names_the_loop(sub: str, loop: str) -> None:
    at = harness()
    at.submit(pod("a", sub, cpu="64"))
    at.settle()
    plane = at.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units)
    assert explain_pod(scene, "a").sub_cluster == loop


SCENARIO: dict[str, Any] = {
    "fleet": {"shapes": [{"count": 2, "cpu": 4, "memory": "8Gi", "labels": {"sub": "x"}}]},
    "profile": {"profiles": [RULE]},
    "workloads": [
        {
            "name": "big",
            "pods": {"count": 3, "cpu": 3, "spec": {"nodeSelector": {"sub": "x"}}},
        }
    ],
}


def say(*words: str) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line_shows_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    path = tmp_path / "parts.yaml"
    path.write_text(json.dumps(SCENARIO), encoding="utf-8")
    (shard,) = json.loads(say("shards", str(path), "--json", "-"))["shards"]
    assert shard["loops"] == [
        {"sub_cluster": "", "nodes": 2, "waiting": 0},
        {"sub_cluster": "x", "nodes": 2, "waiting": 1},
    ]
    assert "sub-cluster" in say("shards", str(path))
