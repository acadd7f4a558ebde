"""Preemption where other pods are in the way by a rule, and not by what they take."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import CSI_NODE
from stretto.state.rows.lifecycle import PodState
from stretto.testing import Harness, make_node, make_pod
from tests.support.preemption_plane import (
    budget,
    clean,
    finish_eviction,
    harness,
    held,
    high,
    low,
    running,
    state,
)
from tests.support.volume_plane import HOST, ZONE, Site, using

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def term(app: str, key: str = HOST) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def apart(app: str, key: str = HOST) -> dict[str, Any]:
    return {"spec": {"affinity": {"podAntiAffinity": {REQUIRED: [term(app, key)]}}}}


def near(app: str, key: str = HOST) -> dict[str, Any]:
    return {"spec": {"affinity": {"podAffinity": {REQUIRED: [term(app, key)]}}}}


def even(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term(app, key), **more}
    return {"spec": {"topologySpreadConstraints": [rule]}}


def small(name: str, app: str = "", **more: Any) -> bytes:
    """A pod whose requests block no other pod."""
    return low(name, **{"cpu": "100m", "labels": {"app": app} if app else {}, **more})


def zones(count: int = 2) -> tuple[bytes, ...]:
    return tuple(make_node(f"n{i}", cpu="4", zone=f"z{i}") for i in range(count))


# ---------------------------------------------------------------- affinity


def test_a_pod_blocked_by_anti_affinity_preempts_the_blocking_pods_only() -> None:
    plane = running(small("web", "web"), small("other", "db"))
    plane.submit(high(**apart("web")))
    plane.settle()
    assert plane.placements() == {"high": "n", "other": "n"}
    assert clean(plane)


def test_a_running_pod_with_anti_affinity_to_the_newcomer_is_preempted() -> None:
    plane = running(small("shy", **apart("web")), small("other"))
    plane.submit(high(labels={"app": "web"}))
    plane.settle()
    assert plane.placements() == {"high": "n", "other": "n"}


def test_all_blocking_pods_must_be_on_one_node() -> None:
    pods = (small("one", "web", node="n0"), small("two", "web", node="n1"))
    nodes = tuple(make_node(f"n{i}", cpu="4", zone="z") for i in range(2))
    plane = running(*pods, nodes=nodes)
    plane.submit(high(**apart("web", ZONE)))
    plane.settle()
    assert plane.placements() == {"high": "", "one": "n0", "two": "n1"}


@pytest.mark.parametrize("priority", [10, 11])
def test_no_pod_is_preempted_if_a_blocking_pod_has_equal_priority(priority: int) -> None:
    plane = running(small("web", "web"), small("dear", "web", priority=priority))
    plane.submit(high(**apart("web")))
    plane.settle()
    assert plane.placements() == {"dear": "n", "high": "", "web": "n"}


def test_a_pod_waits_until_the_blocking_pod_is_really_gone() -> None:
    plane = running(held("web", cpu="100m", labels={"app": "web"}))
    plane.submit(high(**apart("web")))
    plane.settle()
    assert state(plane, "high") is PodState.NOMINATED
    finish_eviction(plane, "web")
    plane.settle()
    assert plane.placements() == {"high": "n"}


def test_a_terminating_pod_blocks_until_it_is_gone_without_further_evictions() -> None:
    plane = running(held("web", cpu="100m", labels={"app": "web"}))
    plane.delete("web")
    plane.submit(high(**apart("web")))
    plane.settle()
    assert plane.node_of("high") == ""
    finish_eviction(plane, "web")
    plane.settle(30)
    assert plane.node_of("high") == "n"


def test_the_only_company_of_the_preemptor_is_no_victim() -> None:
    plane = running(low("db", labels={"app": "db"}))
    plane.submit(high(**near("db")))
    plane.settle()
    assert plane.placements() == {"db": "n", "high": ""}


def test_company_that_stays_elsewhere_in_the_zone_is_company_enough() -> None:
    nodes = tuple(make_node(f"n{i}", cpu="4", zone="z") for i in range(2))
    pods = (low("db", node="n0", labels={"app": "db"}), small("mate", "db", node="n1"))
    plane = running(*pods, low("dear", node="n1", priority=10), nodes=nodes)
    plane.submit(high(**near("db", ZONE)))
    plane.settle()
    assert plane.placements() == {"dear": "n1", "high": "n0", "mate": "n1"}


def test_of_two_that_mind_each_other_one_preempts() -> None:
    plane = running(low("low"))
    twins = [high(f"h{i}", cpu="1", labels={"app": "h"}, **apart("h")) for i in range(2)]
    plane.submit(*twins)
    plane.settle(5)
    assert sorted(plane.placements().values()) == ["", "n", "n"]
    assert clean(plane)


# ---------------------------------------------------------------- spreading


def test_a_pod_preempts_the_pods_that_skew_its_spread() -> None:
    nodes = zones()
    plane = running(small("a", "web", node="n0"), small("b", "web", node="n0"), nodes=nodes)
    plane.submit(low("wall", node="n1", priority=10))
    plane.settle()
    plane.submit(high(labels={"app": "web"}, **even("web")))
    plane.settle()
    left = plane.placements()
    assert left.pop("high") == "n0"
    assert left == {"wall": "n1"}  # both had to go: the other zone has none


def test_no_more_pods_are_preempted_than_the_skew_requires() -> None:
    nodes = zones()
    pods = [small(name, "web", node="n0") for name in "abc"]
    plane = running(*pods, nodes=nodes)
    plane.submit(low("wall", node="n1", priority=10, labels={"app": "web"}))
    plane.settle()
    plane.submit(high(labels={"app": "web"}, **even("web")))
    plane.settle()
    assert plane.node_of("high") == "n0"
    assert sum(name in "abc" for name in plane.placements()) == 1


def test_those_that_a_budget_protects_are_spared_first() -> None:
    plane = harness(*zones())
    plane.submit(low("wall", node="n1", priority=10, labels={"app": "web"}))
    plane.submit(small("safe", "web", node="n0", annotations={}), small("free", "web", node="n0"))
    plane.settle()
    budget(plane, selector={"matchLabels": {"app": "web"}}, minAvailable=2)
    plane.settle()
    plane.submit(high(labels={"app": "web"}, **even("web")))
    plane.settle()
    assert plane.node_of("high") == "n0"
    assert clean(plane)


# ---------------------------------------------------------------- gangs


def test_a_gang_of_pods_that_mind_each_other_preempts_on_nodes_of_its_own() -> None:
    nodes = zones(3)
    plane = running(*(low(f"low{i}", node=f"n{i}") for i in range(3)), nodes=nodes)
    plane.group("g", 2)
    mates = [high(f"g{i}", cpu="2", group="g", labels={"app": "g"}, **apart("g")) for i in range(2)]
    plane.submit(*mates)
    plane.settle()
    placed = plane.placements()
    assert len({placed["g0"], placed["g1"]} - {""}) == 2
    assert clean(plane)


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
@pytest.mark.parametrize(("lows_in_z1", "placed"), [(0, 0), (1, 3)])
def test_a_gang_that_spreads_preempts_only_where_it_is_even_when_all_are_there(
    profile: str, lows_in_z1: int, placed: int
) -> None:
    where = [("a0", "z0"), ("a1", "z0"), ("a2", "z0"), ("b0", "z1")]
    nodes = [make_node(name, cpu="4", zone=zone) for name, zone in where]
    plane = Harness(nodes, profile=profile, config={"tier": "numpy"})
    dear = {"priority": 1 if lows_in_z1 else 100}
    plane.submit(*(low(f"low-{name}", node=name) for name in ("a0", "a1", "a2")))
    plane.submit(low("low-b0", node="b0", **dear))
    plane.settle()
    plane.group("g", 3)
    mates = [high(f"g{i}", group="g", labels={"app": "g"}, **even("g")) for i in range(3)]
    plane.submit(*mates)
    plane.settle(60.0)
    nodes_of = [node for name, node in plane.placements().items() if name.startswith("g") and node]
    assert len(nodes_of) == placed
    assert clean(plane)


# ---------------------------------------------------------------- volumes


def volumes_of(*nodes: bytes) -> Site:
    site = Site(nodes or [make_node("n", cpu="4")], config={"tier": "numpy"})
    site.storage_class("local")
    return site


def test_the_holder_of_a_read_write_once_pod_claim_is_preempted() -> None:
    site = volumes_of(make_node("n", cpu="4"), make_node("m", cpu="4"))
    site.volume("disk")
    site.claim("data", bound="disk", mode="ReadWriteOncePod")
    site.submit(using("one", "data", priority=1, node="n"), make_pod("other", node="n"))
    site.settle()
    site.submit(using("two", "data", priority=10))
    site.settle()
    assert site.placements() == {"other": "n", "two": "n"}
    assert clean(site)


def full_of_volumes(site: Site, count: int = 1) -> None:
    """A node whose volume limit is reached, and one more volume to request."""
    driver = {"name": "csi.example.com", "nodeID": "x", "allocatable": {"count": count}}
    site.define(CSI_NODE, "n", spec={"drivers": [driver]})
    for i in range(count + 1):
        site.volume(f"v{i}", driver="csi.example.com")
        site.claim(f"c{i}", bound=f"v{i}")


def test_the_pod_with_the_last_volume_of_a_driver_is_preempted() -> None:
    site = volumes_of()
    full_of_volumes(site, 2)
    site.submit(using("p0", "c0", priority=1), using("p1", "c1", priority=2))
    site.settle()
    site.submit(using("wants", "c2", priority=10))
    site.settle()
    assert site.placements() == {"p1": "n", "wants": "n"}


def test_of_two_pods_for_the_last_volume_one_preempts() -> None:
    site = volumes_of()
    full_of_volumes(site)
    site.submit(using("holder", "c0", priority=1))
    site.settle()
    site.volume("more", driver="csi.example.com")
    site.claim("more", bound="more")
    site.submit(using("one", "c1", priority=10), using("two", "more", priority=10))
    site.settle(5)
    assert sorted(site.placements().values()) == ["", "n"]
    assert clean(site)


def test_a_pod_with_volumes_preempts_the_blocking_pods_and_the_volume_holder() -> None:
    site = volumes_of()
    full_of_volumes(site)
    site.submit(using("holder", "c0", priority=1), small("web", "web"), small("other"))
    site.settle()
    wants = using("wants", "c1", priority=10)
    site.submit(with_rules(wants, apart("web")["spec"]))
    site.settle()
    assert site.placements() == {"other": "n", "wants": "n"}


def with_rules(body: bytes, spec: dict[str, Any]) -> bytes:
    whole = msgspec.json.decode(body)
    whole["spec"] |= spec
    return msgspec.json.encode(whole)


# ---------------------------------------------------------------- ports


def test_a_pod_with_host_ports_preempts_the_blocking_pods_too() -> None:
    ports = {"ports": (80,)}
    plane = running(small("web", "web"), small("port", **ports), small("other"))
    plane.submit(high(**ports, **apart("web")))
    plane.settle()
    assert plane.placements() == {"high": "n", "other": "n"}
