"""NUMA nodes: impossible reports, the holders of resources, and the accounts at the end."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD, POD_GROUP
from stretto.base.errors import InputError
from stretto.framework.groups.numa_snapshot import NumaColumns
from stretto.framework.groups.stage import GroupStage
from stretto.state.classes.annotations import (
    DOMAIN_CAPS,
    MEMORY_ENHANCEMENT,
    MICRO_TOPOLOGY,
    format_micro_topology,
    read_annotations,
    read_micro_topology,
)
from stretto.state.queries.invariants import overcommitted
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_group, make_node, make_pod, make_report, numa_notes

PLAIN = {"tier": "numpy"}
ZONE = {"cpu": "8", "memory": "16Gi"}


def machine(*reports: bytes, gpus: int = 0, **node: str) -> Harness:
    """One node of 16 cores with what its agent reports."""
    body = json.loads(make_node("n", cpu="16", memory="32Gi", gpus=gpus))
    body["metadata"].update(node)
    harness = Harness([json.dumps(body).encode()], config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, *reports)
    harness.settle()
    return harness


def reported(harness: Harness) -> str:
    return harness.plane.cluster.abnormal.get("customnoderesource n", "")


# ---------------------------------------------------------------- what cannot be right


def test_a_report_that_is_older_than_its_node_does_not_count() -> None:
    old = make_report("n", [ZONE, ZONE], created="2026-01-01T00:00:00Z")
    harness = machine(old, creationTimestamp="2026-06-01T00:00:00Z")
    harness.submit(make_pod("bound", annotations=numa_notes()), make_pod("plain"))
    harness.settle()
    assert "before the node was created (2026-06-01T00:00:00Z)" in reported(harness)
    assert harness.placements() == {"bound": "", "plain": "n"}


def test_negative_devices_are_reported_and_count_as_none() -> None:
    harness = machine(make_report("n", [{**ZONE, "nvidia.com/gpu": "-2"}, ZONE]))
    assert "allocatable.nvidia.com/gpu: got -2, expected 0 to" in reported(harness)
    harness.submit(make_pod("p", cpu="8", annotations=numa_notes()))
    harness.settle()
    assert harness.node_of("p") == "n"


def test_unknown_zones_are_reported_and_ignored() -> None:
    siblings = {"siblings": [{"type": "Numa", "name": "7"}]}
    harness = machine(make_report("n", [ZONE, ZONE], zone=siblings))
    assert "NUMA 0: its sibling 7 does not exist" in reported(harness)


def test_a_measurement_of_an_unknown_zone_is_reported() -> None:
    report = json.loads(make_report("n", [ZONE, ZONE], used={"cpu": "1"}))
    report["status"]["nodeMetricStatus"]["nodeMetric"]["numaUsage"] = [{"numaId": 5}]
    assert "NUMA 5 does not exist (there are 0, 1)" in reported(
        machine(json.dumps(report).encode())
    )


def test_a_zone_named_twice_counts_once() -> None:
    report = json.loads(make_report("n", [ZONE, ZONE]))
    report["status"]["topologyZone"][1]["children"][0]["name"] = "0"
    assert "NUMA 0 appears twice" in reported(machine(json.dumps(report).encode()))


def test_a_report_that_cannot_be_read_fails_alone() -> None:
    body = {"metadata": {"name": "n"}, "status": {"topologyZone": [{"type": 3}]}}
    kind = CUSTOM_NODE_RESOURCE
    report = json.dumps({"apiVersion": kind.api_version, "kind": kind.kind, **body}).encode()
    harness = Harness([make_node("n")], config=PLAIN)
    harness.store.create(kind, [report])
    harness.submit(make_pod("p"))
    harness.settle()
    assert harness.node_of("p") == "n"


def test_a_pod_with_an_unknown_zone_is_reported_and_counted_elsewhere() -> None:
    harness = machine(make_report("n", [ZONE, ZONE]))
    notes = numa_notes(**{MICRO_TOPOLOGY: "9:cpu=4"})
    harness.submit(make_pod("p", cpu="4", node="n", annotations=notes))
    harness.settle()
    assert (
        "got 9, expected NUMA nodes that its node has: 0, 1"
        in harness.plane.cluster.abnormal["pod default/p"]
    )
    assert (len(harness.plane.cluster.topology.holdings), harness.breaches()) == (1, [])


def test_exclusive_numa_nodes_are_for_dedicated_cores() -> None:
    memory = json.dumps({"numa_binding": "true", "numa_exclusive": "true"})
    with pytest.raises(InputError, match="numa_exclusive: got 'true', expected false, unless"):
        read_annotations({MEMORY_ENHANCEMENT: memory}, "pod p")


# ---------------------------------------------------------------- holders of resources


def test_a_pod_bound_by_another_client_holds_what_its_annotation_states() -> None:
    harness = machine(make_report("n", [ZONE, ZONE]))
    notes = numa_notes(**{MICRO_TOPOLOGY: "1:cpu=4,memory=1Gi"})
    harness.submit(make_pod("p", cpu="4", memory="1Gi", node="n", annotations=notes))
    harness.settle()
    (hold,) = harness.plane.cluster.topology.holdings.values()
    assert hold.parts == ((1, 0, 4000), (1, 1, 1 << 30))


def test_whole_numa_nodes_keep_the_rest_of_the_node_for_the_others() -> None:
    harness = machine(make_report("n", [ZONE, ZONE]))
    harness.submit(make_pod("whole", cpu="1", annotations=numa_notes(exclusive=True)))
    harness.settle()
    harness.submit(*(make_pod(f"p{i}", cpu="3") for i in range(4)))
    harness.settle()
    assert sorted(harness.placements().values()) == ["", "", "n", "n", "n"]


def test_gpus_come_from_the_numa_node_of_the_pod() -> None:
    report = make_report("n", [ZONE, ZONE], gpus=[(0, 1), (2, 3)])
    harness = machine(report, gpus=4)
    harness.submit(make_pod("a", cpu="8", annotations=numa_notes()))
    harness.settle()
    harness.submit(make_pod("b", cpu="4", gpus=2, annotations=numa_notes()))
    harness.settle()
    notes = harness.notes_of("b")
    assert (notes[MICRO_TOPOLOGY], notes["stretto.dev/gpu-devices"]) == (
        "1:cpu=4,memory=128Mi",
        "2,3",
    )


def test_pods_find_their_numa_nodes_when_the_report_comes_after_them() -> None:
    harness = machine()
    harness.submit(make_pod("p", cpu="4", node="n", annotations=numa_notes()))
    harness.settle()
    harness.create(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE, ZONE]))
    harness.settle()
    (hold,) = harness.plane.cluster.topology.holdings.values()
    assert (hold.parts[0], harness.breaches()) == ((0, 0, 4000), [])


def test_a_node_that_comes_back_finds_its_report() -> None:
    harness = machine(make_report("n", [ZONE, ZONE]))
    harness.store.delete(NODE, [Deletion("", "n")])
    harness.settle()
    harness.create_nodes(make_node("n", cpu="16", memory="32Gi"))
    harness.submit(make_pod("p", cpu="4", annotations=numa_notes()))
    harness.settle()
    assert (harness.node_of("p"), harness.breaches()) == ("n", [])


def test_the_note_is_read_as_it_was_written() -> None:
    held = {0: {"cpu": 1500, "memory": 1 << 31}, 3: {"nvidia.com/gpu": 2}}
    assert read_micro_topology(format_micro_topology(held), "pod p") == held


@pytest.mark.parametrize("text", ["cpu=1", "x:cpu=1", "0:cpu", "0:cpu=1;0:cpu=2", "0:cpu=-1"])
def test_a_note_that_cannot_be_read_is_an_error(text) -> None:
    with pytest.raises(InputError, match=r"annotation godel\.bytedance\.com/micro-topology"):
        read_micro_topology(text, "pod p")


# ---------------------------------------------------------------- caps


def switches(count: int, shards: int = 1) -> Harness:
    nodes = [make_node(f"n{i}", cpu="64", labels={"switch": f"s{i}"}) for i in range(count)]
    return Harness(nodes, config={**PLAIN, "shards": shards})


def capped(harness: Harness, pods: int, cap: str) -> list[int]:
    body = json.loads(make_group("g", pods))
    body["metadata"]["annotations"] = {DOMAIN_CAPS: cap}
    harness.create(POD_GROUP, json.dumps(body).encode())
    harness.submit(*(make_pod(f"p{i}", group="g") for i in range(pods)))
    harness.settle()
    names = [node for node in harness.placements().values() if node]
    return sorted(names.count(node) for node in set(names))


@pytest.mark.parametrize(
    ("pods", "count", "expected"), [(8, 4, [2, 2, 2, 2]), (8, 3, []), (6, 6, [1] * 6), (6, 5, [])]
)
def test_a_quarter_of_a_gang_is_the_most_that_a_switch_holds(pods, count, expected) -> None:
    assert capped(switches(count), pods, "switch=25%") == expected


def test_two_shards_together_keep_a_cap() -> None:
    harness = switches(4, shards=2)
    notes = {DOMAIN_CAPS: "switch=2"}
    owner = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "w", "uid": "u", "controller": True}
    for number in range(10):
        harness.submit(make_pod(f"p{number}", annotations=notes, owner=owner))
        if number % 3 == 0:
            harness.settle()
    harness.settle()
    names = [node for node in harness.placements().values() if node]
    assert sorted(names.count(node) for node in set(names)) == [2, 2, 2, 2]


# ---------------------------------------------------------------- the books


def test_nothing_is_held_of_a_node_that_has_gone() -> None:
    harness = Harness([make_node("n", cpu="16", memory="32Gi")], config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE] * 4))
    harness.submit(make_pod("p", cpu="1", annotations=numa_notes()))
    harness.settle()
    harness.store.delete(NODE, [Deletion("", "n")])
    harness.settle()
    assert not harness.plane.cluster.topology.taken.any()
    assert harness.breaches() == []


def test_a_node_in_the_place_of_a_former_one_does_not_have_its_numa_nodes() -> None:
    harness = Harness([make_node("n", cpu="16", memory="32Gi")], config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE] * 4))
    harness.submit(make_pod("seen", annotations=numa_notes()))
    harness.settle()
    harness.store.delete(NODE, [Deletion("", "n")])
    harness.settle()
    harness.create_nodes(make_node("plain", cpu="16", memory="32Gi"))
    harness.submit(make_pod("early", cpu="4", annotations=numa_notes()))
    harness.settle()
    harness.create_nodes(make_node("small", cpu="1", memory="32Gi"))
    harness.create(CUSTOM_NODE_RESOURCE, make_report("small", [{"cpu": "1", "memory": "1Gi"}]))
    harness.submit(make_pod("late", cpu="2", annotations=numa_notes()))
    harness.settle()
    assert (harness.node_of("early"), harness.node_of("late")) == ("", "")
    assert harness.plane.binder.counts == {"granted": 1, "bound": 1}


steps = st.lists(
    st.tuples(
        st.sampled_from(["bind", "whole", "plain", "end", "report", "node"]),
        st.integers(0, 3),
        st.integers(1, 9),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(steps)
def test_after_any_change_the_ledger_agrees_and_no_numa_node_is_overcommitted(script) -> None:
    names = [f"n{i}" for i in range(4)]
    harness = Harness([make_node(n, cpu="16", memory="32Gi") for n in names[:2]], config=PLAIN)
    harness.create(CUSTOM_NODE_RESOURCE, *(make_report(n, [ZONE] * 4) for n in names))
    for number, (what, which, size) in enumerate(script):
        notes = numa_notes(exclusive=what == "whole") if what in ("bind", "whole") else {}
        if what in ("bind", "whole", "plain"):
            harness.submit(make_pod(f"p{number}", cpu=str(size), annotations=notes))
        elif what == "end" and number > which:
            harness.store.delete(POD, [Deletion("default", f"p{number - which - 1}")])
        elif what == "report":
            harness.replace(
                CUSTOM_NODE_RESOURCE, make_report(names[which], [ZONE] * (1 + size % 4))
            )
        elif what == "node":
            gone = harness.store.delete(NODE, [Deletion("", names[which])])
            if gone[0].record is None:
                harness.create_nodes(make_node(names[which], cpu="16", memory="32Gi"))
        harness.settle()
        assert harness.breaches() == []
    cluster = harness.plane.cluster
    if not any(what in ("report", "node") for what, _, _ in script):
        assert overcommitted(cluster) == []
    runtime = harness.plane.shards[0].default.runtime
    runtime.sync()
    fresh = NumaColumns(cluster.topology, cluster.ledger)
    fresh.sync(runtime.columns)
    mine = runtime.stage(GroupStage).slot_sets.numa.snapshot
    assert all(np.array_equal(a, b) for a, b in zip(mine, fresh.snapshot, strict=True))
