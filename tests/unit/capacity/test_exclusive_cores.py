"""Exclusive cores on overcommitted nodes: gangs, NUMA nodes, reservations and preemption."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.framework.compiled.group_tables import PlacementJob
from stretto.framework.groups.calls import SlotSetPlacer
from stretto.framework.groups.one_by_one import MANY, CandidateWindow
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

Slots = npt.NDArray[np.int32]
DEDICATED = {"katalyst.kubewharf.io/qos_level": "dedicated_cores"}
RESERVED = {
    "godel.bytedance.com/reservation": "true",
    "godel.bytedance.com/reservation-ttl": "30",
}
ZONE = {"cpu": "8", "memory": "16Gi"}


def harness(*names: str, cpu: str = "4", ratio: float = 3) -> Harness:
    """Nodes that promise their CPU three times, or as often as the ratio states."""
    pools = {"online": {"caps": {"cpu": ratio}, "measured": False}}
    profile = load_profile({"profiles": [{"stretto": {"overcommit": {"pools": pools}}}]})
    nodes = [make_node(n, cpu=cpu, memory="32Gi", labels={POOL_LABEL: "online"}) for n in names]
    return Harness(nodes, profile=profile, config={"tier": "numpy"})


def on(at: Harness, prefix: str) -> list[str]:
    at.settle()
    return sorted(node for name, node in at.placements().items() if name.startswith(prefix))


def gang(at: Harness, count: int, **more: Any) -> None:
    at.group("g", count)
    at.submit(*(make_pod(f"g{i}", group="g", **more) for i in range(count)))


def refused(at: Harness) -> int:
    counts = at.plane.binder.counts
    return sum(count for cause, count in counts.items() if cause not in ("granted", "bound"))


def test_a_gang_goes_to_nodes_that_hold_all_of_its_members() -> None:
    at = harness("n", "m")
    at.submit(make_pod("on-n", cpu="7", node="n"), make_pod("on-m", cpu="8", node="m"))
    gang(at, 2, cpu="1", annotations=DEDICATED)
    assert (on(at, "g"), refused(at)) == (["m", "n"], 0)


def test_a_gang_that_fits_nowhere_is_not_claimed() -> None:
    at = harness("n")
    at.submit(make_pod("on-n", cpu="7", node="n"))
    gang(at, 2, cpu="1", annotations=DEDICATED)
    assert (on(at, "g"), refused(at)) == (["", ""], 0)


@pytest.mark.parametrize("ratio", [1.1, 1.15, 1.2, 1.25, 1.333, 1.4])
def test_pods_with_exclusive_cores_use_all_cores_of_a_node(ratio: float) -> None:
    at = harness("n", cpu="1", ratio=ratio)
    at.submit(make_pod("d0", cpu="500m", annotations=DEDICATED))
    at.settle()
    at.submit(make_pod("d1", cpu="500m", annotations=DEDICATED))
    assert (on(at, "d"), refused(at)) == (["n", "n"], 0)


@pytest.mark.parametrize("ratio", [1.01, 1.1, 1.15, 1.333, 2.3])
def test_a_gang_with_exclusive_cores_uses_all_cores_of_a_node(ratio: float) -> None:
    at = harness("n", cpu="1", ratio=ratio)
    gang(at, 4, cpu="250m", annotations=DEDICATED)
    assert (on(at, "g"), refused(at)) == (["n"] * 4, 0)


def test_a_gang_with_numa_nodes_counts_what_its_members_take_of_the_promise() -> None:
    at = harness("n", "m", cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, *(make_report(name, [ZONE, ZONE]) for name in ("n", "m")))
    at.submit(make_pod("on-n", cpu="10", node="n"), make_pod("on-m", cpu="11", node="m"))
    gang(at, 2, cpu="8", annotations=numa_notes())
    assert (on(at, "g"), refused(at)) == (["m", "n"], 0)


@pytest.mark.parametrize(("shared", "where"), [("24", ["n"]), ("25", [""])])
def test_whole_numa_nodes_are_exclusive_with_more_than_the_request(
    shared: str, where: list[str]
) -> None:
    at = harness("n", cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE, ZONE]))
    at.submit(make_pod("shared", cpu=shared, node="n"))
    at.submit(make_pod("d", cpu="4", annotations=numa_notes(exclusive=True)))
    assert (on(at, "d"), refused(at)) == (where, 0)


def test_a_pod_waits_for_numa_nodes_that_are_not_promised_with_that_reason() -> None:
    at = harness("n", cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE, ZONE]))
    at.submit(make_pod("shared", cpu="25", node="n"))
    at.submit(make_pod("d", cpu="4", annotations=numa_notes(exclusive=True)))
    at.settle()
    pods = at.plane.cluster.pods
    class_id = int(pods.class_id[pods.name.index("d")])
    said = at.plane.verdicts.of(class_id, 0.0, at_any_cost=True)
    assert "1 node topology not satisfy exclusive" in (said.message if said else "")


def test_a_pod_with_whole_numa_nodes_goes_to_a_node_whose_promise_holds_them() -> None:
    at = harness("n", "m", cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, *(make_report(name, [ZONE, ZONE]) for name in ("n", "m")))
    at.submit(make_pod("on-n", cpu="25", node="n"), make_pod("on-m", cpu="24", node="m"))
    at.group("g", 1)
    notes = numa_notes(exclusive=True)
    at.submit(*(make_pod(f"g{i}", group="g", cpu="4", annotations=notes) for i in range(2)))
    assert (on(at, "g"), refused(at)) == (["", "m"], 0)


def test_a_gang_in_one_zone_counts_what_its_members_take_of_the_promise() -> None:
    at = harness("n", "m")
    at.submit(make_pod("on-n", cpu="7", node="n"))
    required = [{"topologyKey": "kubernetes.io/hostname"}]
    at.group("g", 2, affinity={"podGroupAffinity": {"required": required}})
    at.submit(*(make_pod(f"g{i}", cpu="1", group="g", annotations=DEDICATED) for i in range(2)))
    assert (on(at, "g"), refused(at)) == (["m", "m"], 0)


def test_pods_of_one_batch_see_what_exclusive_cores_leave() -> None:
    at = harness("n")
    at.submit(make_pod("d", cpu="3", annotations=DEDICATED))
    at.submit(*(make_pod(f"p{i}", cpu="1") for i in range(9)))
    assert on(at, "p").count("n") == 3
    assert refused(at) == 0


def test_a_pod_with_exclusive_cores_replaces_an_equal_one_of_lower_priority() -> None:
    at = harness("n")
    at.submit(make_pod("low", cpu="4", annotations=DEDICATED, priority=1))
    at.settle()
    at.submit(make_pod("high", cpu="4", annotations=DEDICATED, priority=9))
    assert (on(at, "low"), on(at, "high")) == ([], ["n"])


def test_the_eviction_of_exclusive_cores_frees_what_they_took_of_the_promise() -> None:
    at = harness("n")
    at.submit(make_pod("low", cpu="3", annotations=DEDICATED, priority=1))
    at.settle()
    at.submit(make_pod("high", cpu="9", priority=9))
    assert (on(at, "low"), on(at, "high")) == ([], ["n"])


def test_a_preemptor_counts_the_exclusive_cores_that_another_gets_in_the_same_cycle() -> None:
    at = harness("n")
    at.submit(*(make_pod(f"low{i}", cpu="1", priority=1) for i in range(12)))
    at.settle()
    at.submit(make_pod("first", cpu="2", annotations=DEDICATED, priority=9))
    at.submit(make_pod("second", cpu="8", priority=8))
    assert (on(at, "first"), on(at, "second"), len(on(at, "low"))) == (["n"], [""], 6)
    assert at.breaches() == []


def test_a_successor_returns_to_the_reserved_exclusive_cores_of_a_full_node() -> None:
    at = harness("n")
    owner = {"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    again = {"cpu": "2", "owner": owner, "annotations": {**DEDICATED, **RESERVED}}
    at.submit(make_pod("d0", **again))
    at.settle()
    at.submit(make_pod("p", cpu="6"))
    at.settle()
    at.delete("d0")
    at.submit(make_pod("d1", **again))
    assert (on(at, "p"), on(at, "d1"), refused(at)) == (["n"], ["n"], 0)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of slots of each call that places a pod on the best of some slots."""
    calls, try_slots = list[int](), SlotSetPlacer.try_slots

    def counted(self: SlotSetPlacer, slots: Slots, ids: Slots) -> PlacementJob:
        calls.append(len(slots))
        return try_slots(self, slots, ids)

    monkeypatch.setattr(SlotSetPlacer, "try_slots", counted)
    return calls


def test_a_gang_tries_nodes_without_numa_nodes_once(tried: list[int]) -> None:
    names = [f"n{i:03}" for i in range(2 * MANY + 1)]
    at = harness(*names, cpu="16")
    zones = [[{"cpu": "3", "memory": "16Gi"}] * 2] * (2 * MANY) + [[ZONE, ZONE]]
    reports = (make_report(name, each) for name, each in zip(names, zones, strict=True))
    at.create(CUSTOM_NODE_RESOURCE, *reports)
    gang(at, 4, cpu="4", annotations=numa_notes())
    assert on(at, "g") == [names[-1]] * 4
    assert tried == [MANY, MANY, 1, 1, 1, 1]


def test_a_node_that_refuses_its_promise_is_tried_until_it_refuses(tried: list[int]) -> None:
    names = [f"n{i:03}" for i in range(MANY + 8)]
    at = harness(*names, cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, *(make_report(name, [ZONE, ZONE]) for name in names))
    at.submit(*(make_pod(f"on-{name}", cpu="25", node=name) for name in names))
    at.settle()
    at.submit(make_pod("d", cpu="4", annotations=numa_notes(exclusive=True)))
    assert on(at, "d") == [""]
    assert tried == [MANY] * 9 + list(range(MANY - 1, 0, -1))


class CountedOrder:
    """An order of candidates that counts how many are read."""

    def __init__(self, count: int) -> None:
        self.order, self.read = np.arange(count), 0

    def __getitem__(self, part: slice) -> npt.NDArray[np.intp]:
        self.read += len(self.order[part])
        return self.order[part]


@pytest.mark.parametrize("width", [1, MANY])
def test_each_candidate_is_read_once_however_many_are_refused(width: int) -> None:
    order, seen = CountedOrder(1000), list[int]()
    window = CandidateWindow(order, width)  # type: ignore[arg-type]
    while len(window.candidates):
        seen.append(int(window.candidates[0]))
        window.drop(0)
    assert (seen, order.read) == (list(range(1000)), 1000)


@pytest.mark.parametrize(("shared", "where"), [("24", ["n"]), ("25", [""])])
def test_reserved_numa_nodes_stay_exclusive_as_a_whole(shared: str, where: list[str]) -> None:
    at = harness("n", cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, make_report("n", [ZONE, ZONE]))
    owner = {"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    notes = {**numa_notes(exclusive=True), **RESERVED}
    at.submit(make_pod("d0", cpu="4", owner=owner, annotations=notes))
    at.settle()
    at.delete("d0")
    at.submit(make_pod("shared", cpu=shared))
    assert (on(at, "shared"), at.breaches()) == (where, [])
    at.submit(make_pod("d1", cpu="4", owner=owner, annotations=notes))
    assert (on(at, "d1"), refused(at)) == (["n"], 0)


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
WHOLE, SOME = numa_notes(exclusive=True), DEDICATED


@pytest.mark.parametrize(("notes", "cpu", "shared"), [(WHOLE, "4", "25"), (SOME, "8", "40")])
@pytest.mark.parametrize("hints", [["n"], ["n", "m"]])
def test_a_recommended_node_whose_promise_does_not_hold_a_pod_is_no_obstacle(
    notes: dict[str, str], cpu: str, shared: str, hints: list[str]
) -> None:
    at = harness("n", "m", cpu="16")
    at.create(CUSTOM_NODE_RESOURCE, *(make_report(name, [ZONE, ZONE]) for name in ("n", "m")))
    at.submit(make_pod("on-n", cpu=shared, node="n"))
    at.settle()
    at.plane.cluster.recommended["OwnerUnit/ReplicaSet/default/web"] = hints
    at.submit(make_pod("d", cpu=cpu, annotations=notes, owner={**OWNER, "uid": "web"}))
    assert (on(at, "d"), refused(at), at.breaches()) == (["m"], 0, [])


def test_pods_on_recommended_nodes_count_what_they_take_of_the_promise() -> None:
    at = harness("n", "m", cpu="4")
    at.submit(make_pod("on-n", cpu="8", node="n"), make_pod("on-m", cpu="9", node="m"))
    at.settle()
    at.plane.cluster.recommended["OwnerUnit/ReplicaSet/default/web"] = ["m", "m"]
    owner = {**OWNER, "uid": "web"}
    at.submit(*(make_pod(f"d{i}", cpu="1", annotations=SOME, owner=owner) for i in range(2)))
    assert (on(at, "d"), refused(at), at.breaches()) == (["m", "n"], 0, [])
