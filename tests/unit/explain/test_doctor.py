"""The check-up: a healthy state breaks nothing, and each law that is broken is named."""

import msgspec
import numpy as np
import pytest

from stretto.api.wire.kinds import NM_NODE, NODE, POD, POD_GROUP, QUEUE, Kind
from stretto.explain.doctor.doctor import CheckedObjects, Checkup, examine, subject_of
from stretto.explain.doctor.findings import INVARIANTS, DoctorCheck
from stretto.explain.records.recorder import StepBatch, StepKind
from stretto.state.cluster.config import SCHEDULER_NAME
from stretto.stores.store import Record
from stretto.testing import Harness, make_group, make_node, make_pod

NAMES = frozenset({SCHEDULER_NAME})


def record(kind: Kind, body: bytes, **more: str) -> Record:
    meta = msgspec.json.decode(body)["metadata"]
    space = meta.get("namespace", "default") if kind.namespaced else ""
    name = more.pop("name", meta["name"])
    uid = more.pop("uid", f"uid-{kind.kind}-{name}")
    return Record(kind, space, name, uid, 1, body, **more)


def on(node: str, name: str, **more: object) -> Record:
    return record(POD, make_pod(name, **more), node=node)  # type: ignore[arg-type]


def queue(name: str, **spec: object) -> Record:
    return record(QUEUE, msgspec.json.encode({"metadata": {"name": name}, "spec": spec}))


def checkup(*records: Record) -> Checkup:
    return examine(subject_of([record(NODE, make_node("n", cpu="4", gpus=1)), *records], NAMES))


def queued(name: str) -> dict[str, dict[str, str]]:
    return {"annotations": {"stretto.dev/queue": name}}


def with_status(body: bytes, **status: object) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(body), "status": status})


GANG = record(POD_GROUP, make_group("g", 2))
TOP = queue("top", limit={"cpu": 1})
UNPLACED = {"type": "PodScheduled", "status": "False"}
SICK: dict[DoctorCheck, tuple[tuple[Record, ...], str]] = {
    DoctorCheck.OVER_COMMITTED: (
        (on("n", "a", cpu="3"), on("n", "b", cpu="2")),
        "node n is over-committed in cpu: its pods request 5 cores of 4 cores",
    ),
    DoctorCheck.DEVICE_CLASH: (
        (on("n", "a", gpus=1), on("n", "b", gpus=1)),
        "node n: device 0 is allocated to default/a, default/b, 2000 thousandths in total",
    ),
    DoctorCheck.PORT_CLASH: (
        (on("n", "a", ports=[80]), on("n", "b", ports=[80])),
        "node n: pods default/a and default/b both use host port 80/TCP",
    ),
    DoctorCheck.GANG_PART_BOUND: (
        (GANG, on("n", "a", group="g"), record(POD, make_pod("b", group="g"))),
        "gang default/g has 1 of 2 pods bound and needs at least 2",
    ),
    DoctorCheck.BOUND_TWICE: (
        (on("n", "a"), record(POD, make_pod("b"), uid="uid-Pod-a")),
        "pods default/a and default/b have the same uid, uid-Pod-a",
    ),
    DoctorCheck.UNKNOWN_NODE: (
        (on("gone", "a"),),
        "pods are on node gone, which does not exist: default/a",
    ),
    DoctorCheck.STALE_NOMINATION: (
        (record(POD, with_status(make_pod("a"), nominatedNodeName="gone")),),
        "pod default/a has nominated node gone, which does not exist",
    ),
    DoctorCheck.QUEUE_OVER_LIMIT: (
        (
            queue("top", limit={"cpu": 1}),
            queue("t", parent="top"),
            on("n", "a", cpu="2", **queued("t")),
        ),
        "queue top uses 2 cores, its limit is 1 core",
    ),
    DoctorCheck.UNREADABLE: (
        (record(POD, make_pod("a", cpu="-1")),),
        "pod default/a",
    ),
    DoctorCheck.STALE_CONDITION: (
        (
            record(
                POD,
                with_status(
                    make_pod("a"), conditions=[{"type": "PodScheduled", "status": "False"}]
                ),
                node="n",
            ),
        ),
        "pod default/a is on n, but its condition is PodScheduled=False",
    ),
    DoctorCheck.GANG_SHRUNK: (
        (GANG, on("n", "a", group="g")),
        "gang default/g has 1 of 1 pods bound and needs at least 2",
    ),
}


@pytest.mark.parametrize("check", SICK, ids=lambda check: check.value)
def test_what_is_broken_is_named_and_nothing_else(check: DoctorCheck) -> None:
    records, words = SICK[check]
    said = checkup(*records)
    assert {each.check for each in said.findings} == {check}
    assert words in said.findings[0].sentence
    assert said.findings[0].objects
    assert bool(said.broken) == (INVARIANTS[check][0] > 0)


def test_a_healthy_state_breaks_nothing() -> None:
    gang = (GANG, on("n", "a", group="g"), on("n", "b", group="g"))
    said = checkup(*gang, on("n", "c", gpus=1, ports=[80]), record(POD, make_pod("big", cpu="64")))
    assert said.findings == ()
    assert (said.nodes, said.pods) == (1, 4)


def test_a_machine_without_a_kubelet_is_still_a_node() -> None:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "9"}
    status = {"resourceCapacity": amounts, "resourceAllocatable": amounts}
    manager = msgspec.json.encode({"metadata": {"name": "m"}, "status": status})
    by_manager = {"annotations": {"godel.bytedance.com/pod-launcher": "node-manager"}}
    assert checkup(record(NM_NODE, manager), on("m", "a", cpu="3", **by_manager)).findings == ()


def test_a_pod_that_has_ended_takes_nothing() -> None:
    ended = record(POD, with_status(make_pod("a", cpu="4"), phase="Succeeded"), node="n")
    assert checkup(ended, on("n", "b", cpu="4")).findings == ()


def test_units_that_may_run_in_a_queue_are_counted() -> None:
    said = checkup(queue("q", maxRunningUnits=1), *(on("n", p, **queued("q")) for p in "ab"))
    assert [each.sentence for each in said.findings] == ["queue q runs 2 units, its limit is 1"]


def batch(kind: StepKind, *serials: int) -> StepBatch:
    return StepBatch(0.0, kind, 0, "", np.array(serials, np.int64), np.zeros(0, np.int32))


def test_a_second_placement_without_a_refusal_between_is_found_in_the_history() -> None:
    history = [
        batch(StepKind.PLACED, 1, 2),
        batch(StepKind.REFUSED, 1),
        batch(StepKind.PLACED, 1, 2),
    ]
    subject = subject_of([], NAMES)
    said = examine(msgspec.structs.replace(subject, history=history, serials={2: "default/two"}))
    assert [each.objects for each in said.findings] == [("Pod default/two",)]
    assert said.findings[0].check is DoctorCheck.BOUND_TWICE


def living(harness: Harness) -> CheckedObjects:
    plane = harness.plane
    records = [each for kind in (NODE, POD) for each in harness.store.list(kind).records]
    return CheckedObjects(plane.cluster, records, audit=plane.dispatcher.audit)


def test_a_living_plane_is_examined_by_its_own_ledger() -> None:
    harness = Harness(nodes=[make_node("n")], config={"tier": "numpy"})
    harness.submit(make_pod("a"), make_pod("big", cpu="64"))
    harness.settle()
    assert examine(living(harness)).findings == ()
    harness.delete("a")
    lost = examine(living(harness)).findings
    assert [each.check for each in lost] == [DoctorCheck.CLAIM_WITHOUT_POD]
    assert "charged for pod default/a, which does not exist" in lost[0].sentence


def test_a_ledger_that_differs_from_the_pods_is_found() -> None:
    harness = Harness(nodes=[make_node("n")], config={"tier": "numpy"})
    harness.settle()
    harness.plane.cluster.ledger.used[harness.plane.cluster.nodes.by_name["n"], 0] += 5
    assert [each.check for each in examine(living(harness)).findings] == [DoctorCheck.LEDGER]
