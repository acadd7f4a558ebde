"""Progress of a gang: members that fit together, and what the next one lacks."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD, POD_GROUP
from stretto.explain.why.answers import Explanation
from stretto.explain.why.remedies import removal
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.sources.unhandled import read_objects
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.state.classes.annotations import DOMAIN_CAPS
from stretto.testing import Harness, make_group, make_node, make_pod, make_report, numa_notes
from tests.support.explained import explained


def gang(size: int, min_member: int, *others: bytes) -> Explanation:
    harness = Harness(
        nodes=[make_node(f"n{i}", cpu="4") for i in range(3)], config={"tier": "numpy"}
    )
    harness.submit(*others)
    harness.settle()
    harness.group("g", min_member)
    harness.submit(*[make_pod(f"g-{i}", cpu="2", group="g") for i in range(size)])
    harness.settle()
    plane = harness.plane
    return explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "g-0")


def blocker(name: str) -> bytes:
    return make_pod(name, cpu="3")


def test_a_gang_that_no_empty_cluster_could_hold_is_too_big() -> None:
    said = gang(8, 8)
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.GANG_TOO_BIG
    assert "empty, fit 6." in said.dominant.sentence


def test_a_gang_that_is_short_states_how_many_would_fit() -> None:
    said = gang(6, 6, blocker("b"))
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.GANG_SHORT
    assert "4 of the missing 6 would fit now" in said.dominant.sentence


def test_the_next_member_states_what_it_lacks() -> None:
    facts = gang(6, 6, blocker("b")).gang
    assert facts is not None
    assert (facts.needed, facts.fitting, facts.fitting_if_empty) == (6, 4, 6)
    assert facts.next_pod == "default/g-4"
    assert facts.next_lacks is not None
    assert facts.next_lacks.lacks[0].resource == "cpu"


def test_a_smaller_minimum_is_offered_as_a_cure() -> None:
    cures = {each.kind: each for each in gang(6, 6, blocker("b")).cures}
    assert cures[CureKind.MIN_MEMBER].amount == 4


def test_a_gang_without_all_its_pods_is_incomplete() -> None:
    said = gang(2, 4)
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.GANG_INCOMPLETE
    assert "Only 2 of the 4 required pods" in said.dominant.sentence


@pytest.mark.parametrize("size", [4, 5])
def test_a_gang_that_is_placed_has_no_reason(size: int) -> None:
    said = gang(size, 4)
    assert said.node
    assert said.gang is None


def capacity_of(said: Explanation) -> Remedy:
    (found,) = [each for each in said.cures if each.kind is CureKind.CAPACITY]
    return found


def test_the_capacity_for_a_gang_is_what_all_its_members_lack() -> None:
    (capacity,) = [
        each for each in gang(6, 6, blocker("b")).cures if each.kind is CureKind.CAPACITY
    ]
    assert capacity.sentence.startswith("Freeing 3 cores on n")
    assert [(each.resource, each.amount) for each in capacity.amounts] == [("cpu", 3000)]


def test_a_gang_that_never_fits_has_no_capacity_cure() -> None:
    assert CureKind.CAPACITY not in {each.kind for each in gang(8, 8).cures}


def test_no_cure_of_a_member_alone_is_offered_to_a_gang_on_full_nodes() -> None:
    busy = [make_pod(f"busy-{i}", cpu="4", node=f"n{i}") for i in range(3)]
    amounts = capacity_of(gang(2, 2, *busy)).amounts
    assert sum(each.amount for each in amounts) == 4000


def wide(nodes: list[bytes], size: int, spec: dict[str, Any], **group: Any) -> Explanation:
    """A gang of ``size`` pods of 2 cores on nodes that run nothing else."""
    harness = Harness(nodes, config={"tier": "numpy"})
    harness.group("g", size, **group)
    labels = {"app": "g"}
    pods = [make_pod(f"g-{i}", cpu="2", group="g", labels=labels, spec=spec) for i in range(size)]
    harness.submit(*pods)
    harness.settle(5)
    return explained(harness, "g-0")


@pytest.mark.parametrize("key", ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
def test_more_members_than_domains_that_keep_them_apart_never_fit(key: str) -> None:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "g"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    nodes = [make_node(f"n{i}", zone=f"z{i}") for i in range(2)]
    said = wide(nodes, 3, {"affinity": apart})
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.GANG_TOO_BIG
    assert said.dominant.sentence.endswith("empty, fit 2.")


def test_a_gang_that_no_rack_holds_never_fits_although_the_cluster_would() -> None:
    nodes = [make_node(f"n{i}", cpu="4", labels={"rack": f"r{i}"}) for i in range(2)]
    required = {"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}
    said = wide(nodes, 3, {}, affinity=required)
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.GANG_TOO_BIG


def test_missing_members_are_no_cure_where_they_would_not_fit() -> None:
    harness = Harness([make_node("n0", cpu="4")], config={"tier": "numpy"})
    harness.group("g", 3)
    harness.submit(*[make_pod(f"g-{i}", cpu="2", group="g") for i in range(2)])
    harness.settle(5)
    kinds = [each.kind for each in explained(harness, "g-0").cures]
    assert kinds == [CureKind.MIN_MEMBER, CureKind.EVENT]


APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "g"}},
                }
            ]
        }
    }
}


def on_full_nodes(profile: str, **more: Any) -> Explanation:
    """A gang of two on two nodes, one of which is full; every pod has these settings."""
    nodes = [make_node(f"n{i}", cpu="4") for i in range(2)]
    harness = Harness(nodes, profile=profile, config={"tier": "numpy"})
    notes = more.get("annotations", {})
    if notes:
        numas = [{"cpu": "2", "memory": "8Gi"}] * 2
        harness.create(CUSTOM_NODE_RESOURCE, *(make_report(f"n{i}", numas) for i in range(2)))
    running = [make_pod(f"r{i}", cpu="2", node="n0", annotations=notes) for i in range(2)]
    harness.submit(*running, make_pod("r2", cpu="2", node="n1", annotations=notes))
    harness.settle(1)
    harness.group("g", 2)
    members = [make_pod(f"g-{i}", cpu="2", group="g", labels={"app": "g"}, **more) for i in (0, 1)]
    harness.submit(*members)
    harness.settle()
    return explained(harness, "g-0")


def removal_cures(harness: Harness, pod: str) -> list[Remedy]:
    return [each for each in explained(harness, pod).cures if each.kind is CureKind.PODS]


@pytest.mark.parametrize("on_group", [True, False], ids=["of its PodGroup", "of its pods"])
def test_removals_keep_the_domain_caps_of_a_gang(on_group: bool) -> None:
    """One pod per host: both free cores of n0 are no help for the second pod."""
    harness = Harness([make_node(f"n{i}", cpu="4") for i in range(2)], config={"tier": "numpy"})
    harness.submit(*(make_pod(f"r{i}", cpu="2", node="n1") for i in range(2)))
    notes = {DOMAIN_CAPS: "kubernetes.io/hostname=1"}
    body = msgspec.json.decode(make_group("g", 2))
    body["metadata"]["annotations"] = notes if on_group else {}
    harness.create(POD_GROUP, msgspec.json.encode(body))
    own = {} if on_group else notes
    harness.submit(*(make_pod(f"g-{i}", cpu="2", group="g", annotations=own) for i in (0, 1)))
    harness.settle()
    (cure,) = removal_cures(harness, "g-0")
    assert cure.pods in {("default/r0",), ("default/r1",)}
    harness.delete(cure.pods[0].removeprefix("default/"))
    harness.settle(400)
    assert all(harness.node_of(f"g-{i}") for i in (0, 1))


def test_removals_start_the_rest_of_a_gang_that_is_placed_in_part() -> None:
    """One of three members runs on n0; the two others do not share a node with any member."""
    harness = Harness([make_node(f"n{i}", cpu="2") for i in range(3)], config={"tier": "numpy"})
    more: dict[str, Any] = {"group": "g", "labels": {"app": "g"}, "spec": APART}
    harness.submit(*(make_pod(f"r{i}", cpu="2", node=f"n{i}") for i in (1, 2)))
    harness.group("g", 3)
    harness.submit(make_pod("g-0", cpu="2", node="n0", **more))
    harness.submit(*(make_pod(f"g-{i}", cpu="2", **more) for i in (1, 2)))
    harness.settle()
    (cure,) = removal_cures(harness, "g-1")
    assert cure.pods == ("default/r1", "default/r2")


def test_removals_start_a_gang_of_more_than_ninety_pods() -> None:
    """At most 60 of its 100 pods per rack: rack a has capacity for 20, rack b for 60."""
    nodes = [
        make_node(f"{rack}{i}", cpu="20", labels={"rack": rack}) for rack in "ab" for i in range(3)
    ]
    harness = Harness(nodes, config={"tier": "numpy"})
    harness.submit(*(make_pod(f"r{i}", cpu="20", node=f"a{i}") for i in (0, 1)))
    harness.group("g", 100)
    notes = {DOMAIN_CAPS: "rack=60"}
    members = [make_pod(f"g-{i}", cpu="1", group="g", annotations=notes) for i in range(100)]
    harness.submit(*members)
    harness.settle()
    (cure,) = removal_cures(harness, "g-0")
    assert cure.pods in {("default/r0",), ("default/r1",)}


def test_gated_members_of_a_gang_are_named() -> None:
    harness = Harness([make_node("n", cpu="4")], config={"tier": "numpy"})
    harness.group("g", 2)
    gates = {"schedulingGates": [{"name": "example.com/a"}]}
    harness.submit(make_pod("g-0", group="g"), make_pod("g-1", group="g", spec=gates))
    harness.settle()
    dominant = explained(harness, "g-0").dominant
    assert dominant is not None
    assert dominant.sentence.endswith("can be scheduled; scheduling gates hold back 1 more pod.")


def gated_gang(cpu: str, gated: Sequence[int], count: int = 3) -> Harness:
    """A gang, some members of which have a scheduling gate, on a node of 4 cores."""
    harness = Harness([make_node("n", cpu="4")], config={"tier": "numpy"})
    harness.group("g", count)
    spec = {"schedulingGates": [{"name": "example.com/a"}]}
    for each in range(count):
        gates = spec if each in gated else {}
        harness.submit(make_pod(f"g-{each}", cpu=cpu, group="g", spec=gates))
    harness.settle()
    return harness


def sentences(harness: Harness, pod: str) -> list[str]:
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units)
    scene.objects = read_objects(harness.store.list(POD).records, plane.cluster, frozenset())
    return [each.sentence for each in explain_pod(scene, pod).cures if each.kind is CureKind.GATES]


@pytest.mark.parametrize("pod", ["g-0", "g-1", "g-2"])
def test_removing_gates_is_the_cure_of_every_member_of_a_gang(pod: str) -> None:
    (said,) = sentences(gated_gang("1", [1, 2]), pod)
    removed = "example.com/a from default/g-1 and default/g-2"
    assert said == f"Removing {removed} would let the whole gang start."


def test_removing_gates_is_no_cure_of_a_gang_that_then_does_not_fit() -> None:
    assert sentences(gated_gang("2", [2]), "g-0") == []


def test_a_gang_whose_members_all_have_gates_waits_for_their_removal() -> None:
    said = explained(gated_gang("1", [0, 1, 2]), "g-1")
    (cure,) = said.cures
    assert cure.sentence == (
        "Its gang is tried after the removal of the scheduling gates from default/g-0, default/g-1 "
        "and default/g-2."
    )


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_removals_start_a_large_gang_with_one_pod_per_host(profile: str) -> None:
    nodes = [make_node(f"n{i}", cpu="2") for i in range(100)]
    harness = Harness(nodes, profile=profile, config={"tier": "numpy"})
    harness.submit(*(make_pod(f"r{i}", cpu="2", node=f"n{i}") for i in range(100)))
    harness.group("g", 95)
    more: dict[str, Any] = {"cpu": "1", "group": "g", "labels": {"app": "g"}, "spec": APART}
    harness.submit(*(make_pod(f"g-{i}", **more) for i in range(95)))
    harness.settle()
    (cure,) = removal_cures(harness, "g-0")
    assert len(cure.pods) == 95


def test_a_gang_beyond_the_bound_of_the_search_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "MOST", 0)
    cure = on_full_nodes("default", spec=APART).cures[-1]
    assert cure.kind is CureKind.EVENT
    assert cure.sentence.endswith("may exist: the search for them is bounded.")


@pytest.mark.parametrize(
    ("profile", "more"),
    [
        ("default", {"spec": APART}),
        ("default", {"annotations": numa_notes()}),
        ("kube-parity", {}),
        ("kube-parity", {"spec": APART}),
    ],
    ids=["apart", "NUMA nodes", "kube-parity", "apart under kube-parity"],
)
def test_pods_are_named_whose_removal_starts_a_gang(profile: str, more: dict[str, Any]) -> None:
    cures = [each for each in on_full_nodes(profile, **more).cures if each.kind is CureKind.PODS]
    assert len(cures) == 1
    assert cures[0].pods in {("default/r0",), ("default/r1",), ("default/r2",)}
    assert cures[0].sentence == f"Removing {cures[0].pods[0]} would let the whole gang start."
