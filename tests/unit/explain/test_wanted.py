"""Obstacles by name, with remedies: labels, taints, gates, groups."""

from typing import Any

import pytest

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.explain.why.answers import Explanation
from stretto.explain.why.on_node import explain_pod_on
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.why.scene import Scene
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.sources.unhandled import read_objects
from stretto.explain.why.why import explain_pod
from stretto.testing import Harness, make_group, make_node, make_pod

TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


def scene_of(*pods: bytes, groups: tuple[bytes, ...] = ()) -> Scene:
    nodes = [
        make_node("a1", labels={"rack": "r1"}),
        make_node("a2", labels={"rack": "r2"}),
        make_node("b1", labels={"rack": "r3"}, taints=[TAINT]),
    ]
    harness = Harness(nodes=nodes, config={"tier": "numpy"})
    harness.store.create(POD_GROUP, list(groups))
    harness.submit(*pods)
    harness.settle()
    plane = harness.plane
    found = live_scene(plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views)
    records = [each for kind in (POD, POD_GROUP) for each in harness.store.list(kind).records]
    found.objects = read_objects(records, plane.cluster, frozenset({"stretto"}))
    return found


def requested(*pods: bytes, **more: Any) -> Explanation:
    return explain_pod(scene_of(*pods, **more), "p")


def placed(rule: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [rule]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def one(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"nodeSelector": {"rack": "r9"}}, "no node has rack=r9 (existing values: r1, r2, r3)"),
        ({"nodeSelector": {"rck": "r1"}}, "no node has the label rck"),
        (
            placed({"matchExpressions": [one("rack", "In", "r8", "r9")]}),
            "no node has rack in (r8,r9) (existing values: r1, r2, r3)",
        ),
        (
            placed({"matchFields": [one("metadata.name", "In", "a9")]}),
            "no node is named a9 (did you mean a2 or a1?)",
        ),
    ],
)
def test_what_no_node_has_is_named_with_what_there_is(spec: dict[str, Any], words: str) -> None:
    said = requested(make_pod("p", spec=spec))
    assert said.dominant is not None
    assert said.dominant.sentence == f"None of the 3 nodes is eligible: {words}."


def test_the_node_that_is_meant_comes_first_and_names_its_taint() -> None:
    said = requested(make_pod("p", spec={"nodeSelector": {"rack": "r3"}}))
    assert said.nodes is not None
    first, second = said.nodes.nearest[:2]
    assert (first.node, first.words) == ("b1", ("does not tolerate dedicated=db:NoSchedule",))
    assert (second.node, second.words) == ("a1", ("requires rack=r3, has rack=r1",))
    assert "Tolerating dedicated=db:NoSchedule would make 1 node fit (b1)." in [
        each.sentence for each in said.cures
    ]


def test_the_closest_alternative_is_reported() -> None:
    far = [one("rack", "In", "r9"), one("disk", "Exists")]
    spec = placed({"matchExpressions": far})
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms["nodeSelectorTerms"].append({"matchExpressions": [one("gpu", "Exists")]})
    said = explain_pod_on(scene_of(make_pod("p", spec=spec)), "p", "a1")
    assert "does not fit on a1: requires gpu, has no gpu." in said.sentence


def test_gates_are_named_for_a_single_node_too() -> None:
    gated = make_pod("p", spec={"schedulingGates": [{"name": "x.io/one"}, {"name": "x.io/two"}]})
    said = explain_pod_on(scene_of(gated), "p", "a1")
    assert said.fits
    assert said.sentence.endswith("The scheduling gates x.io/one, x.io/two must be removed first.")


def test_a_misspelt_group_is_met_by_the_one_that_exists() -> None:
    said = requested(make_pod("p", group="rnig"), groups=(make_group("ring", min_member=2),))
    words = "Create the PodGroup default/rnig, or name an existing one: default/ring."
    assert [each.sentence for each in said.cures] == [words]


def test_a_gang_without_enough_pods_is_cured_by_pods_and_not_by_capacity() -> None:
    group = make_group("ring", min_member=3)
    said = requested(make_pod("p", group="ring"), make_pod("q", group="ring"), groups=(group,))
    assert [each.sentence for each in said.cures if each.kind is not CureKind.EVENT] == [
        "Creating 1 more pod of its gang would complete it.",
        "Setting minMember to 2 instead of 3 would start it now.",
    ]


def test_selected_nodes_show_their_shortage_and_not_the_reasons_of_others() -> None:
    port = {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]}
    spec = {**port, "nodeSelector": {"rack": "r1"}}
    said = requested(make_pod("first", spec=spec), make_pod("p", spec=spec))
    assert said.dominant is not None
    assert said.dominant.sentence == (
        "Its host ports are taken on every node that would otherwise fit (1 node), "
        "by default/first on a1."
    )


def test_a_pod_that_waits_for_other_pods_reports_what_wakes_it() -> None:
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "cache"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    said = requested(make_pod("p", spec={"affinity": near}))
    assert ["is placed" in each.sentence for each in said.cures] == [True]
