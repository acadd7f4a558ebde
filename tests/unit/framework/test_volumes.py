"""Pods with volumes under the default profile: where they may go, and what they get there."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import CSI_NODE, PERSISTENT_VOLUME_CLAIM, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.reporting.reporter import ReportConfig
from stretto.framework.profile.profile import load_profile
from stretto.stores.capabilities import Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion
from stretto.testing import make_node, make_pod
from tests.support.volume_plane import HOST, ZONE, Site, using


@pytest.fixture
def site() -> Site:
    found = Site([make_node(f"n{i}", cpu="4", zone=f"z{i % 2}") for i in range(4)])
    found.storage_class("local")
    return found


def test_a_pod_goes_to_the_node_that_reaches_its_bound_volume(site: Site) -> None:
    site.volume("disk", HOST, "n2")
    site.claim("data", bound="disk")
    site.submit(using("web", "data"))
    site.settle()
    assert site.node_of("web") == "n2"


def test_a_waiting_claim_gets_the_smallest_volume_of_the_node_that_was_chosen(site: Site) -> None:
    site.volume("large", HOST, "n1", size="100Gi")
    site.volume("small", HOST, "n1", size="6Gi")
    site.claim("data")
    site.submit(using("web", "data"))
    site.settle()
    assert (site.node_of("web"), site.holder("small"), site.holder("large")) == ("n1", "data", "")


class Attended(MemoryStore):
    """A store that expects an external provisioner; this test has none."""

    capabilities = Capabilities(completes_claims=True)


def test_an_unprovisioned_volume_times_out_as_the_profile_sets() -> None:
    args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 5}}
    profile = load_profile({"profiles": [{"schedulerName": "stretto", "pluginConfig": [args]}]})
    store = Attended(ManualClock(), Rng(0))
    config = {"tier": "numpy", "report": ReportConfig(keep_events=1e9)}
    site = Site([make_node("n0")], profile=profile, config=config, store=store)
    site.storage_class("fast", made=True)
    site.claim("data", of="fast")
    site.submit(using("web", "data"))
    site.settle(4.9)
    assert conditions(store) == []
    site.settle(0.5)
    (said,) = conditions(store)
    assert said.startswith("waited 5 s for volumes on node n0: csi.example.com has not provisioned")
    assert site.plane.binder.counts["granted"] == 1
    site.settle(2.0)
    assert site.plane.binder.counts["granted"] == 2


def conditions(store: MemoryStore) -> list[str]:
    """Return the messages of the pod's conditions."""
    record = store.get(POD, "default", "web")
    assert record is not None
    found = msgspec.json.decode(record.body).get("status", {}).get("conditions", [])
    return [each["message"] for each in found]


def test_two_pods_never_get_one_volume(site: Site) -> None:
    site.volume("only", ZONE, "z1")
    for name in ("a", "b"):
        site.claim(name)
    site.submit(using("one", "a"), using("two", "b"))
    site.settle()
    assert sorted(bool(site.node_of(name)) for name in ("one", "two")) == [False, True]


def test_two_shards_never_give_one_volume_away_twice() -> None:
    site = Site([make_node(f"n{i}") for i in range(8)], config={"shards": 2, "partition": False})
    site.storage_class("local")
    for i in range(3):
        site.volume(f"v{i}")
    for i in range(6):
        site.claim(f"c{i}")
    site.submit(*(using(f"p{i}", f"c{i}") for i in range(6)))
    site.settle()
    holders = [site.holder(f"v{i}") for i in range(3)]
    assert len(set(holders)) == 3
    assert sum(bool(site.node_of(f"p{i}")) for i in range(6)) == 3


def test_a_pod_without_its_claim_waits_and_goes_on_when_the_claim_comes(site: Site) -> None:
    site.submit(using("web", "later"))
    site.settle()
    assert site.node_of("web") == ""
    site.volume("disk", HOST, "n3")
    site.claim("later", bound="disk")
    site.settle(30)
    assert site.node_of("web") == "n3"


def test_a_class_that_makes_volumes_allows_every_node_and_writes_the_choice_to_the_claim(
    site: Site,
) -> None:
    site.storage_class("fast", made=True)
    site.claim("data", of="fast")
    site.submit(using("web", "data"))
    site.settle()
    record = site.store.get(PERSISTENT_VOLUME_CLAIM, "default", "data")
    assert record is not None
    notes = msgspec.json.decode(record.body)["metadata"]["annotations"]
    assert notes["volume.kubernetes.io/selected-node"] == site.node_of("web") != ""


def test_a_node_takes_so_many_volumes_of_a_driver(site: Site) -> None:
    driver = {"name": "csi.example.com", "nodeID": "x", "allocatable": {"count": 1}}
    for i in range(4):
        site.define(CSI_NODE, f"n{i}", spec={"drivers": [driver]})
    for i in range(6):
        site.volume(f"v{i}", driver="csi.example.com")
        site.claim(f"c{i}", bound=f"v{i}")
        site.submit(using(f"p{i}", f"c{i}"))
        site.settle()
    nodes = [site.node_of(f"p{i}") for i in range(6)]
    assert sorted(filter(None, nodes)) == ["n0", "n1", "n2", "n3"]


def test_a_claim_for_one_pod_alone_is_free_again_when_the_pod_has_gone(site: Site) -> None:
    site.volume("disk")
    site.claim("data", bound="disk", mode="ReadWriteOncePod")
    site.submit(using("one", "data"))
    site.settle()
    site.submit(using("two", "data"))
    site.settle()
    assert site.node_of("two") == ""
    site.store.delete(POD, [Deletion("default", "one")])
    site.settle(30)
    assert site.node_of("two") != ""


def test_pods_recreated_together_under_their_names_keep_no_claim_reserved(site: Site) -> None:
    for name in "abcd":
        site.volume(name)
        site.claim(name, bound=name, mode="ReadWriteOncePod")
    for node, other in (("n1", "c"), ("n0", "d")):
        site.submit(*(using(f"web-{name}", name, node=node) for name in "ab"), using(other, other))
        site.settle()
        site.store.delete(POD, [Deletion("default", f"web-{name}") for name in "ab"])
    site.submit(*(using(f"heir-{name}", name) for name in "ab"))
    site.settle(30)
    assert all(site.placements().values())


def test_a_volume_with_a_zone_keeps_its_pod_there(site: Site) -> None:
    site.volume("disk", labels={ZONE: "z1"})
    site.claim("data", bound="disk")
    site.submit(using("web", "data"))
    site.settle()
    assert site.node_of("web") in ("n1", "n3")


def test_a_gang_that_falls_short_keeps_no_volume(site: Site) -> None:
    site.volume("only", HOST, "n0")
    site.claim("a")
    site.claim("b")
    site.group("team", 2)
    site.submit(using("a", "a", group="team"), using("b", "b", group="team"))
    site.settle()
    assert (site.node_of("a"), site.node_of("b"), site.holder("only")) == ("", "", "")
    site.volume("second", HOST, "n1")
    site.settle(30)
    assert {site.node_of("a"), site.node_of("b")} == {"n0", "n1"}


def test_pods_with_and_without_volumes_share_a_batch(site: Site) -> None:
    site.volume("disk", HOST, "n2")
    site.claim("data", bound="disk")
    plain = [make_pod(f"p{i}", cpu="1") for i in range(9)]
    site.submit(*plain[:5], using("web", "data", cpu="1"), *plain[5:])
    site.settle()
    assert site.node_of("web") == "n2"
    assert all(site.node_of(f"p{i}") for i in range(9))
    assert site.breaches() == []


def test_inter_pod_rules_apply_to_a_pod_with_volumes_too(site: Site) -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for i in range(3):
        site.volume(f"v{i}", ZONE, "z0")
        site.claim(f"c{i}")
    for i in range(3):
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": f"c{i}"}}]
        spec = {"volumes": volumes, "affinity": apart}
        site.submit(make_pod(f"db{i}", labels={"app": "db"}, spec=spec))
    site.settle()
    nodes = [site.node_of(f"db{i}") for i in range(3)]
    assert sorted(filter(None, nodes)) == ["n0", "n2"]


def test_the_message_is_kube_schedulers(site: Site) -> None:
    site.volume("disk", HOST, "n2")
    site.claim("data", bound="disk")
    heard: list[str] = []
    site.plane.observers.append(
        lambda step: heard.extend(m for p in step.plans for s in p.setbacks for m in s.messages)
    )
    site.submit(using("web", "data", cpu="64"))
    site.settle()
    assert heard[0] == "0/4 nodes are available: 4 Insufficient cpu."
    site.submit(make_pod("full", cpu="4", node="n2"), using("two", "data", cpu="1"))
    site.settle()
    expected = "3 node(s) didn't match PersistentVolume's node affinity"
    assert f"0/4 nodes are available: 1 Insufficient cpu, {expected}." in heard


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_volumes_allow_is_what_the_exact_rules_allow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = [make_node(f"n{i}", cpu="4", zone=f"z{i % 3}") for i in range(6)]
    sites = [Site(nodes, profile=profile) for profile in ("default", "kube-parity")]
    script = [
        (str(rng.choice(["host", "zone", "any"])), int(rng.integers(6)), int(rng.integers(1, 30)))
        for _ in range(5)
    ]
    for site in sites:
        site.storage_class("local")
        site.storage_class("fast", made=True)
        for i, (how, at, size) in enumerate(script):
            where = {"host": (HOST, f"n{at}"), "zone": (ZONE, f"z{at % 3}"), "any": ("", "")}[how]
            site.volume(f"v{i}", *where, size=f"{size}Gi")
            site.claim(f"c{i}", size=f"{1 + size // 2}Gi", of="local" if at else "fast")
            site.submit(using(f"p{i}", f"c{i}"))
            site.settle()
    fast, exact = ([bool(s.node_of(f"p{i}")) for i in range(5)] for s in sites)
    assert fast == exact


@pytest.mark.parametrize("volumes_in", ["z0", "z1"])
def test_a_gang_with_volumes_lies_in_one_place_of_its_group(site: Site, volumes_in: str) -> None:
    """Only one of three has a volume: the others go where that one can be, all in one zone."""
    site.volume("v", ZONE, volumes_in)
    site.claim("c")
    place = {"podGroupAffinity": {"required": [{"topologyKey": ZONE}]}}
    site.group("g", 3, affinity=place)
    members = [make_pod("p", cpu="3", group="g"), make_pod("q", group="g")]
    site.submit(*members, using("holder", "c", cpu="3", group="g"))
    site.settle()
    zones = {f"z{int(node[1:]) % 2}" for node in site.placements().values()}
    assert (zones, site.breaches()) == ({volumes_in}, [])


def test_a_gang_with_volumes_that_fits_no_single_place_waits_and_holds_nothing(site: Site) -> None:
    site.volume("v", ZONE, "z0")
    site.claim("c")
    place = {"podGroupAffinity": {"required": [{"topologyKey": ZONE}]}}
    site.group("g", 3, affinity=place)
    site.submit(
        using("holder", "c", cpu="3", group="g"),
        *(make_pod(f"p{i}", cpu="3", group="g") for i in range(2)),
    )
    site.settle()
    assert set(site.placements().values()) == {""}
    site.submit(*(make_pod(f"q{i}", cpu="4") for i in range(4)))
    site.settle()
    assert all(site.node_of(f"q{i}") for i in range(4))


def test_a_pod_with_volumes_pushes_others_out_where_its_volumes_are() -> None:
    site = Site([make_node(f"n{i}", cpu="2") for i in range(3)])
    site.storage_class("local")
    site.volume("disk", HOST, "n1")
    site.claim("data", bound="disk")
    site.submit(*(make_pod(f"low{i}", cpu="2", priority=0) for i in range(3)))
    site.settle()
    there = {name: node for name, node in site.placements().items() if node != "n1"}
    site.submit(using("high", "data", cpu="1", priority=10))
    site.settle(60)
    assert site.node_of("high") == "n1"
    assert {name: site.node_of(name) for name in there} == there


def test_a_waiting_claim_gets_its_volume_when_the_victims_have_left() -> None:
    site = Site([make_node(f"n{i}", cpu="2") for i in range(2)])
    site.storage_class("local")
    site.volume("disk", HOST, "n0")
    site.claim("data")
    site.submit(*(make_pod(f"low{i}", cpu="2", priority=0) for i in range(2)))
    site.settle()
    site.submit(using("high", "data", cpu="2", priority=10))
    site.settle(60)
    assert (site.node_of("high"), site.holder("disk")) == ("n0", "data")


def test_no_pod_is_evicted_for_a_pod_with_a_missing_claim() -> None:
    site = Site([make_node("n0", cpu="2")])
    site.submit(make_pod("low", cpu="2", priority=0))
    site.settle()
    site.submit(using("high", "nowhere", cpu="2", priority=10))
    site.settle(60)
    assert (site.node_of("low"), site.node_of("high")) == ("n0", "")
