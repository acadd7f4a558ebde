"""Rules between pods, end to end: where pods go, what is said, and what wakes those that wait."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import NAMESPACE, POD, SERVICE
from stretto.base.errors import InputError, UnknownNameError
from stretto.explain.why.on_node import explain_pod_on
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.framework.profile.profile import load_profile
from stretto.state.work.units import Cure
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def three_zones(count: int = 6) -> Harness:
    nodes = [make_node(f"n{i}", zone="abc"[i % 3], cpu="16") for i in range(count)]
    return Harness(nodes, config={"tier": "numpy"})


def near(app: str, key: str = ZONE) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [term(app, key)]}}


def away(app: str, key: str = HOST) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [term(app, key)]}}


def term(app: str, key: str) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def spread(app: str, skew: int = 1, key: str = ZONE, **more: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    action = {"whenUnsatisfiable": "DoNotSchedule", **more}
    rule = {"maxSkew": skew, "topologyKey": key, "labelSelector": selector, **action}
    return {"topologySpreadConstraints": [rule]}


def pod(name: str, app: str, affinity: Any = None, **more: Any) -> bytes:
    spec = {**more.pop("spec", {}), **({"affinity": affinity} if affinity else {})}
    return make_pod(name, labels={"app": app}, spec=spec, **more)


def nodes_of(harness: Harness, *names: str) -> list[str]:
    harness.settle()
    return [harness.node_of(name) for name in names]


def zones_of(harness: Harness, *names: str) -> list[str]:
    return ["abc"[int(node[1:]) % 3] if node else "" for node in nodes_of(harness, *names)]


def test_pods_that_keep_away_from_each_other_take_a_node_each() -> None:
    harness = three_zones(4)
    harness.submit(*(pod(f"p{i}", "web", away("web")) for i in range(5)))
    placed = nodes_of(harness, *(f"p{i}" for i in range(5)))
    assert (len(set(placed[:4])), placed[4]) == (4, "")


def test_a_running_pod_excludes_pods_without_terms() -> None:
    harness = three_zones(3)
    harness.submit(pod("hermit", "hermit", away("web", ZONE)))
    harness.settle()
    harness.submit(*(pod(f"p{i}", "web") for i in range(4)))
    assert zones_of(harness, "hermit")[0] not in zones_of(harness, *(f"p{i}" for i in range(4)))


def test_the_first_of_a_group_goes_anywhere_and_the_rest_follow() -> None:
    harness = three_zones()
    harness.submit(*(pod(f"p{i}", "db", near("db")) for i in range(5)))
    assert len(set(zones_of(harness, *(f"p{i}" for i in range(5))))) == 1


def test_a_pod_waits_for_the_pods_of_its_affinity() -> None:
    harness = three_zones()
    harness.submit(pod("web", "web", near("db")))
    assert nodes_of(harness, "web") == [""]
    harness.submit(pod("db", "db"))
    harness.settle()
    assert zones_of(harness, "web") == zones_of(harness, "db")


def test_a_gang_whose_members_require_each_other_starts_together() -> None:
    harness = three_zones()
    harness.group("g", 2)
    harness.submit(pod("web", "web", near("db"), group="g"), pod("db", "db", group="g"))
    placed = zones_of(harness, "web", "db")
    assert placed[0] == placed[1] != ""


def test_pods_are_spread_evenly_over_zones() -> None:
    harness = three_zones()
    harness.submit(*(pod(f"p{i}", "web", spec=spread("web")) for i in range(9)))
    zones = zones_of(harness, *(f"p{i}" for i in range(9)))
    assert sorted(zones.count(zone) for zone in "abc") == [3, 3, 3]


def test_too_few_domains_hold_pods_back() -> None:
    harness = three_zones()
    few = spread("web", minDomains=5)
    harness.submit(*(pod(f"p{i}", "web", spec=few) for i in range(4)))
    assert nodes_of(harness, *(f"p{i}" for i in range(4))).count("") == 1


def test_a_pod_refused_for_unevenness_goes_when_others_have_gone() -> None:
    harness = three_zones(3)
    here = {**spread("web"), "nodeSelector": {ZONE: "a"}, "nodeAffinityPolicy": "Ignore"}
    here["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = "Ignore"
    harness.submit(*(pod(f"p{i}", "web", spec=here) for i in range(2)))
    assert nodes_of(harness, "p0", "p1") == ["n0", ""]
    harness.store.delete(POD, [Deletion("default", "p0")])
    assert nodes_of(harness, "p1") == ["n0"]


def test_preferred_terms_draw_and_repel() -> None:
    harness = three_zones(3)
    harness.submit(pod("db", "db"))
    harness.settle()
    preference = [{"weight": 100, "podAffinityTerm": term("db", HOST)}]
    harness.submit(pod("close", "x", {"podAffinity": {PREFERRED: preference}}))
    harness.submit(pod("far", "y", {"podAntiAffinity": {PREFERRED: preference}}))
    db, close, far = nodes_of(harness, "db", "close", "far")
    assert db == close != far


def test_pods_of_a_service_are_spread_without_constraints() -> None:
    nodes = [make_node(f"n{i}", zone="abc"[i % 3], cpu="1000") for i in range(3)]
    packing = load_profile("packing")
    harness = Harness(nodes, profile=packing, config={"tier": "numpy"})
    service = {"metadata": {"name": "web", "namespace": "default"}}
    body = {**service, "spec": {"selector": {"app": "web"}}}
    harness.store.create(SERVICE, [json.dumps(body).encode()])
    harness.submit(*(pod(f"p{i}", "web") for i in range(3)))
    assert len(set(nodes_of(harness, "p0", "p1", "p2"))) == 3


def test_a_namespaces_labels_open_and_close_terms() -> None:
    harness = three_zones(1)
    everyone = {**term("web", HOST), "namespaceSelector": {"matchLabels": {"team": "x"}}}
    harness.submit(pod("other", "web", namespace="theirs"))
    harness.settle()
    shy = {"podAntiAffinity": {REQUIRED: [everyone]}}
    harness.submit(pod("shy", "shy", shy))
    assert nodes_of(harness, "shy") != [""]
    space = {"metadata": {"name": "theirs", "labels": {"team": "x"}}}
    harness.store.create(NAMESPACE, [json.dumps(space).encode()])
    harness.submit(pod("shyer", "shy", shy))
    assert nodes_of(harness, "shyer") == [""]


OTHERS = [
    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["own"]},
    {"key": "own", "operator": "DoesNotExist"},
    {"key": "team", "operator": "NotIn", "values": ["x"]},
]
SPACE = {"metadata": {"name": "own", "labels": {"team": "x", "own": "yes"}}}


def excluding(rule: dict[str, Any]) -> dict[str, Any]:
    """Anti-affinity to pods of other namespaces than the pod's own."""
    return {**term("web", HOST), "namespaceSelector": {"matchExpressions": [rule]}}


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
@pytest.mark.parametrize("rule", OTHERS, ids=lambda rule: f"{rule['key']} {rule['operator']}")
@pytest.mark.parametrize("kind", ["podAntiAffinity", "podAffinity"])
def test_a_namespace_selector_that_excludes_a_namespace_excludes_its_pods(
    profile: str, rule: dict[str, Any], kind: str
) -> None:
    harness = Harness([make_node("n0")], profile=profile, config={"tier": "numpy"})
    harness.store.create(NAMESPACE, [json.dumps(SPACE).encode()])
    harness.submit(pod("first", "web", namespace="own"))
    harness.settle()
    harness.submit(pod("second", "shy", {kind: {REQUIRED: [excluding(rule)]}}, namespace="own"))
    harness.settle(20)
    excluded = profile == "default"  # upstream counts every namespace
    assert bool(harness.node_of("second", "own")) is (excluded == (kind == "podAntiAffinity"))


@pytest.mark.parametrize("rule", OTHERS, ids=lambda rule: f"{rule['key']} {rule['operator']}")
@pytest.mark.parametrize("carried", [False, True])
def test_a_namespace_selector_that_excludes_one_namespace_selects_the_others(
    rule: dict[str, Any], carried: bool
) -> None:
    harness = three_zones(1)
    harness.store.create(NAMESPACE, [json.dumps(SPACE).encode()])
    shy = {"podAntiAffinity": {REQUIRED: [excluding(rule)]}}
    first, second = pod("web", "web", namespace="other"), pod("shy", "shy", shy, namespace="own")
    for each in (second, first) if carried else (first, second):
        harness.submit(each)
        harness.settle()
    placed = harness.node_of("web", "other"), harness.node_of("shy", "own")
    assert placed == (("", "n0") if carried else ("n0", ""))


def test_the_name_of_a_namespace_is_a_label_even_without_an_object() -> None:
    harness = three_zones(1)
    harness.submit(pod("first", "web", namespace="own"))
    harness.settle()
    shy = {"podAntiAffinity": {REQUIRED: [excluding(OTHERS[0])]}}
    harness.submit(pod("second", "web", shy, namespace="own"))
    harness.settle()
    assert harness.node_of("second", "own") == "n0"


@pytest.mark.parametrize(("profile", "placed"), [("default", 1), ("kube-parity", 2)])
def test_an_empty_selector_of_a_spread_constraint_counts_every_pod_of_the_namespace(
    profile: str, placed: int
) -> None:
    nodes = [make_node("a", zone="a", cpu="8"), make_node("b", zone="b", cpu="1")]
    harness = Harness(nodes, profile=profile, config={"tier": "numpy"})
    harness.submit(make_pod("filler", cpu="1", node="b", namespace="other"))
    rule = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": {}}
    even = {"topologySpreadConstraints": [{**rule, "whenUnsatisfiable": "DoNotSchedule"}]}
    for i in range(2):
        harness.submit(make_pod(f"p{i}", cpu="1", spec=even))
        harness.settle()
    assert sum(bool(harness.node_of(f"p{i}")) for i in range(2)) == placed


def test_terms_that_cannot_be_read_hold_back_that_pod_alone() -> None:
    harness = three_zones(1)
    bad = {
        "topologyKey": HOST,
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "x"}]},
    }
    bad_pod = pod("bad", "web", {"podAffinity": {REQUIRED: [bad]}})
    harness.put(POD, bad_pod, pod("good", "web"))
    assert nodes_of(harness, "bad", "good") == ["", "n0"]


@pytest.mark.parametrize(
    ("blocked", "reason"),
    [
        (pod("p", "web", near("absent")), "didn't match pod affinity rules"),
        (pod("p", "web", away("db", ZONE)), "didn't match pod anti-affinity rules"),
        (pod("p", "hermit"), "didn't satisfy existing pods anti-affinity rules"),
        (
            pod("p", "web", spec=spread("web", key="rack")),
            "didn't match pod topology spread constraints (missing required label)",
        ),
    ],
)
def test_the_reason_is_kubernetes_own(blocked: bytes, reason: str) -> None:
    harness = three_zones(1)
    harness.submit(pod("db", "db", away("hermit")))
    harness.settle()
    harness.submit(blocked)
    harness.settle()
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units)
    said = explain_pod(scene, "p").nodes
    assert said is not None
    assert said.message.startswith(f"0/1 nodes are available: 1 node(s) {reason}.")


def test_a_placed_pod_does_not_stand_in_its_own_way() -> None:
    harness = three_zones(1)
    harness.submit(pod("p", "web", away("web")))
    harness.settle()
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units)
    assert explain_pod_on(scene, "p", "n0").fits


@pytest.mark.parametrize(
    ("body", "wakes", "sleeps"),
    [
        (pod("p", "a"), Cure.POD_LEFT, Cure.POD_PLACED | Cure.POD_LABELS | Cure.NODE_LEFT),
        (pod("p", "a", away("b")), Cure.POD_LABELS | Cure.NODE_LEFT, Cure.POD_PLACED),
        (pod("p", "a", near("b")), Cure.POD_PLACED, Cure.VOLUME_CHANGED),
        (pod("p", "a", spec=spread("a")), Cure.POD_PLACED | Cure.NODE_LEFT, Cure.NAMESPACE_CHANGED),
    ],
)
def test_each_class_is_woken_by_what_may_help_it(body: bytes, wakes: Cure, sleeps: Cure) -> None:
    harness = three_zones(1)
    harness.submit(body)
    harness.settle()
    class_id = int(harness.plane.cluster.pods.class_id[0])
    cures = harness.plane.engine.cures_of(class_id)
    assert (cures & wakes, cures & sleeps) == (wakes, Cure.NONE)


def test_defaults_are_read_and_misspelt_ones_are_named() -> None:
    listed = [{"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]
    assert defaults(defaultingType="List", defaultConstraints=listed)[0].hard
    assert defaults(defaultingType="List") == ()
    with pytest.raises(InputError, match="defaultConstraints"):
        defaults(defaultConstraints=listed)
    with pytest.raises(InputError, match="maxSkew"):
        defaults(defaultingType="List", defaultConstraints=[{**listed[0], "maxSkew": 0}])
    with pytest.raises(UnknownNameError, match="defaultingType"):
        defaults(defaultingTyp="List")


def defaults(**args: Any) -> Any:
    config = [{"name": "PodTopologySpread", "args": args}]
    return load_profile({"profiles": [{"pluginConfig": config}]}).default_spread


def test_a_gang_with_mutual_affinity_is_woken_once_capacity_is_free() -> None:
    harness = Harness([make_node("n0", cpu="2", zone="a")], config={"tier": "numpy"})
    harness.submit(pod("old", "x", cpu="2"))
    harness.settle()
    harness.group("g", 2)
    harness.submit(pod("web", "web", near("db"), group="g"), pod("db", "db", group="g"))
    assert nodes_of(harness, "web", "db") == ["", ""]
    harness.delete("old")
    harness.settle(30.0)
    assert nodes_of(harness, "web", "db") == ["n0", "n0"]


def test_a_gang_that_must_be_spread_fits_with_an_uneven_start() -> None:
    harness = three_zones(3)
    harness.submit(pod("p", "web", cpu="1"))
    harness.settle()
    harness.group("g", 8)
    harness.submit(*(pod(f"g{i}", "web", spec=spread("web"), group="g") for i in range(8)))
    zones = zones_of(harness, "p", *(f"g{i}" for i in range(8)))
    assert sorted(zones.count(zone) for zone in "abc") == [3, 3, 3]
