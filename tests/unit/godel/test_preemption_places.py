"""Preemption where more than a score row decides: NUMA nodes, caps, racks, volumes, leavers."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD
from stretto.state.classes.annotations import DOMAIN_CAPS
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

PLAIN = {"tier": "numpy"}
ZONE = {"cpu": "8", "memory": "16Gi"}
HOLD = {"finalizers": ["stretto.dev/test"]}


def left(harness: Harness) -> set[str]:
    return set(harness.placements())


def clean(harness: Harness) -> bool:
    return not harness.breaches() and not harness.plane.dispatcher.audit()


# ---------------------------------------------------------------- NUMA nodes


def machine(*names: str) -> Harness:
    nodes = [make_node(name, cpu="16", memory="32Gi") for name in names]
    harness = Harness(nodes, config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, *(make_report(n, [ZONE, ZONE]) for n in names))
    harness.settle()
    return harness


def bound(name: str, cpu: str, priority: int, **more: Any) -> bytes:
    notes = numa_notes(exclusive=more.pop("exclusive", False))
    return make_pod(name, cpu=cpu, priority=priority, annotations=notes, **more)


def numa_of(harness: Harness, name: str) -> str:
    return harness.notes_of(name)["godel.bytedance.com/micro-topology"].split(":")[0]


def test_a_pod_of_numa_nodes_preempts_where_one_of_them_comes_free() -> None:
    harness = machine("n")
    harness.submit(bound("dear", "6", 50), bound("cheap", "6", 1))
    harness.settle()
    was = numa_of(harness, "cheap")
    harness.submit(bound("p", "6", 9))
    harness.settle()
    assert (left(harness), numa_of(harness, "p"), clean(harness)) == ({"dear", "p"}, was, True)


def test_amounts_alone_are_no_reason_to_evict_a_pod() -> None:
    """4 CPUs are free in all, and no eviction of lower priorities gives a NUMA node 6."""
    harness = machine("n")
    harness.submit(bound("dear", "6", 50), bound("dearer", "6", 51), make_pod("low", cpu="1"))
    harness.settle()
    harness.submit(bound("p", "6", 9))
    harness.settle()
    assert (left(harness), harness.node_of("p")) == ({"dear", "dearer", "low", "p"}, "")


def test_a_numa_node_is_reserved_for_its_preemptor_while_the_victim_terminates() -> None:
    harness = machine("n")
    body = msgspec.json.decode(bound("cheap", "6", 1))
    body["metadata"] |= HOLD
    harness.submit(msgspec.json.encode(body), bound("dear", "6", 50))
    harness.settle()
    harness.submit(bound("p", "6", 9))
    harness.settle()
    harness.submit(bound("thief", "3", 8))
    harness.settle()
    assert harness.node_of("p") == harness.node_of("thief") == ""
    harness.store.patch(POD, [Patch("default", "cheap", {"metadata": {"finalizers": None}})])
    harness.settle()
    assert (harness.node_of("p"), harness.node_of("thief"), clean(harness)) == ("n", "", True)


def test_whole_numa_nodes_are_freed_when_all_their_pods_are_evicted() -> None:
    harness = machine("n")
    harness.submit(bound("a", "2", 1), bound("b", "2", 1), bound("c", "7", 50))
    harness.settle()
    harness.submit(bound("p", "7", 9, exclusive=True))
    harness.settle()
    assert (left(harness), clean(harness)) == ({"c", "p"}, True)


def test_a_gang_of_numa_nodes_preempts_as_one_on_one_machine() -> None:
    harness = machine("n")
    harness.submit(bound("a", "6", 1), bound("b", "6", 2))
    harness.settle()
    harness.group("g", 2)
    harness.submit(*(bound(name, "6", 9, group="g") for name in ("p", "q")))
    harness.settle()
    assert (left(harness), {numa_of(harness, n) for n in "pq"}) == ({"p", "q"}, {"0", "1"})
    assert clean(harness)


def test_a_gang_of_gpus_preempts_as_one_on_one_machine() -> None:
    harness = Harness([make_node("n", cpu="32", gpus=4)], config=PLAIN)
    harness.submit(*(make_pod(f"v{i}", gpus=1, priority=1) for i in range(4)))
    harness.settle()
    harness.group("g", 2)
    harness.submit(*(make_pod(n, gpus=2, priority=9, group="g") for n in ("p", "q")))
    harness.settle()
    assert (left(harness), clean(harness)) == ({"p", "q"}, True)


# ---------------------------------------------------------------- racks


def racks(**cpus: str) -> Harness:
    """Two nodes in each rack, full of pods that may be preempted."""
    labels = {name: {"rack": name, "row": "east"} for name in cpus}
    nodes = [
        make_node(f"{rack}-{i}", cpu=cpu, labels=labels[rack])
        for rack, cpu in cpus.items()
        for i in range(2)
    ]
    return Harness(nodes, config=PLAIN)


def fill(harness: Harness, node: str, priority: int, cpu: str = "4") -> None:
    harness.submit(make_pod(f"on-{node}", cpu=cpu, priority=priority, node=node))
    harness.settle()


def rack_gang(harness: Harness, count: int, **affinity: Any) -> set[str]:
    """Submit a gang; the racks that it is in."""
    terms = {kind: [{"topologyKey": key}] for kind, key in affinity.items()}
    harness.group("g", count, affinity={"podGroupAffinity": terms})
    harness.submit(*(make_pod(f"g{i}", cpu="4", priority=9, group="g") for i in range(count)))
    harness.settle()
    assert clean(harness)
    return {n.split("-")[0] for p, n in harness.placements().items() if p[0] == "g" and n}


def test_a_gang_for_one_rack_preempts_in_one_rack() -> None:
    """The cheapest victim of each rack together would split the gang."""
    harness = racks(x="4", y="4")
    for node, priority in (("x-0", 1), ("x-1", 7), ("y-0", 2), ("y-1", 5)):
        fill(harness, node, priority)
    assert rack_gang(harness, 2, required="rack") in ({"x"}, {"y"})
    assert len(left(harness)) == 4


def test_no_pod_is_evicted_from_a_rack_that_would_not_hold_the_gang_even_then() -> None:
    harness = racks(x="4", y="4")
    for node, priority in (("x-0", 1), ("x-1", 50), ("y-0", 2), ("y-1", 50)):
        fill(harness, node, priority)
    assert rack_gang(harness, 2, required="rack") == set()
    assert {"on-x-0", "on-y-0"} < left(harness)


def test_members_that_come_late_preempt_where_the_others_are() -> None:
    harness = racks(x="4", y="8")
    for node in ("x-0", "x-1", "y-0"):
        fill(harness, node, 1)
    fill(harness, "y-1", 1, cpu="8")
    assert rack_gang(harness, 1, required="rack") == {"y"}
    harness.submit(make_pod("g9", cpu="4", priority=9, group="g"))
    harness.settle()
    assert (harness.node_of("g9").split("-")[0], clean(harness)) == ("y", True)


STAGES = [
    ("a rack with capacity", {"y-0": 1}, {"x"}),
    ("the preferred rack, by preemption", {"x-0": 1, "x-1": 1, "y-0": 50, "y-1": 50}, {"x"}),
    ("the first rack that can", {"x-0": 50, "x-1": 50, "y-0": 1, "y-1": 1}, {"y"}),
    ("what holds the racks", {"x-0": 50, "x-1": 1, "y-0": 50, "y-1": 1}, {"x", "y"}),
    ("nowhere", dict.fromkeys(("x-0", "x-1", "y-0", "y-1"), 50), set()),
]


@pytest.mark.parametrize(("why", "there", "expected"), STAGES, ids=[s[0] for s in STAGES])
def test_case_27_free_capacity_comes_first_then_victims_from_narrow_to_wide_domains(
    why: str, there: dict[str, int], expected: set[str]
) -> None:
    """Cached nodes have no counterpart: nothing is remembered from one pod to the next."""
    del why
    harness = racks(x="4", y="4")
    for node, priority in there.items():
        fill(harness, node, priority)
    assert rack_gang(harness, 2, required="row", preferred="rack") == expected


def test_case_27_a_pod_that_may_not_preempt_uses_free_capacity_only() -> None:
    harness = racks(x="4")
    fill(harness, "x-0", 1)
    fill(harness, "x-1", 1)
    harness.submit(make_pod("p", cpu="4", priority=9, spec={"preemptionPolicy": "Never"}))
    harness.settle()
    assert (harness.node_of("p"), left(harness)) == ("", {"on-x-0", "on-x-1", "p"})


# ---------------------------------------------------------------- caps


def test_preemption_keeps_the_caps_by_domain() -> None:
    """Both cheap victims are in one rack, where only one pod of the application may be."""
    harness = racks(x="4", y="4")
    for node, priority in (("x-0", 1), ("x-1", 2), ("y-0", 5), ("y-1", 50)):
        fill(harness, node, priority)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r"}
    notes = {DOMAIN_CAPS: "rack=50%"}
    harness.submit(
        *(
            make_pod(
                f"p{i}", cpu="4", priority=9, annotations=notes, owner={**owner, "controller": True}
            )
            for i in range(2)
        )
    )
    harness.settle()
    nodes = [harness.node_of("p0").split("-")[0], harness.node_of("p1").split("-")[0]]
    assert (sorted(nodes), left(harness)) == (["x", "y"], {"on-x-1", "on-y-1", "p0", "p1"})
    assert clean(harness)


# ---------------------------------------------------------------- evicted elastic gangs


def test_no_member_is_placed_while_the_rest_of_its_gang_is_being_evicted() -> None:
    harness = Harness([make_node("a", cpu="4")], config=PLAIN)
    harness.group("g", 4)
    members = [msgspec.json.decode(make_pod(f"g{i}", cpu="1", group="g")) for i in range(4)]
    for body in members:
        body["metadata"] |= HOLD
    harness.submit(*map(msgspec.json.encode, members))
    harness.settle()
    plane = harness.plane
    rows = tuple(plane.cluster.pods.rows().tolist())
    serials = tuple(plane.cluster.pods.serial[list(rows)].tolist())
    order = EvictionOrder(rows, serials, EvictionCause.RECLAIM, "its queue has borrowed")
    assert len(plane.evictor.order(order, harness.clock.monotonic())) == 4
    harness.submit(make_pod("late", cpu="1", group="g"))
    harness.create_nodes(make_node("b", cpu="4"))
    harness.settle(5)
    assert harness.node_of("late") == ""
    for i in range(4):
        patch = {"metadata": {"finalizers": None}}
        harness.store.patch(POD, [Patch("default", f"g{i}", patch)])
    harness.settle(5)
    harness.submit(*(make_pod(f"again{i}", cpu="1", group="g") for i in range(3)))
    harness.settle(5)
    assert (set(harness.placements().values()) - {"a", "b"}, clean(harness)) == (set(), True)


# ---------------------------------------------------------------- kept places


def test_a_port_of_a_reserved_place_is_not_given_to_a_preemptor() -> None:
    harness = Harness([make_node("n", cpu="4")], config=PLAIN)
    keep = {
        "godel.bytedance.com/reservation": "true",
        "godel.bytedance.com/reservation-ttl": "30",
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r"}
    owner["controller"] = True
    harness.submit(
        make_pod("old", cpu="1", ports=[80], annotations=keep, owner=owner),
        make_pod("low", cpu="3", priority=1),
    )
    harness.settle()
    harness.delete("old")
    harness.submit(make_pod("p", cpu="1", ports=[80], priority=9))
    harness.settle()
    assert (harness.node_of("p"), left(harness), clean(harness)) == ("", {"low", "p"}, True)
    harness.settle(31)
    assert (harness.node_of("p"), left(harness), clean(harness)) == ("n", {"low", "p"}, True)
