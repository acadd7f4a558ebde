"""Cases of other schedulers about units, queues and time, by their numbers in the inventory.

Case 6, 7, 17, 25, 26, 27, 29 and 40: each is what went wrong elsewhere, and what must hold here.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, QUEUE
from stretto.control.reporting.reporter import ReportConfig
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Deletion, Patch, Reply, StatusReason, WriteOutcome
from stretto.testing import Harness, make_node, make_pod
from tests.chaos.rig import Rig

pytestmark = pytest.mark.chaos

HELD = {"finalizers": ["stretto.dev/test"]}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}


def in_queue(name: str, queue: str, cpu: str = "1", **more: Any) -> bytes:
    return make_pod(name, cpu=cpu, annotations={"stretto.dev/queue": queue}, **more)


def queue(name: str, **spec: Any) -> bytes:
    meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    return msgspec.json.encode({**meta, "spec": {"policy": "FifoSkip", **spec}})


def held(body: bytes) -> bytes:
    """A pod with a slow termination."""
    whole = msgspec.json.decode(body)
    whole["metadata"] |= HELD
    return msgspec.json.encode(whole)


def finish_eviction(harness: Harness, *names: str) -> None:
    free = {"metadata": {"finalizers": None}}
    harness.store.patch(POD, [Patch("default", name, free) for name in names])


def counted(harness: Harness, name: str) -> int:
    """Milli-CPU that a queue is charged with, those below it too."""
    usage = harness.plane.dispatcher._places.usage
    assert usage is not None
    branch = usage.tree.find(name)
    return 0 if branch is None else branch.used.get(0, 0)


def live(harness: Harness, *queues: str) -> int:
    """Milli-CPU of the pods of some queues that are on nodes in the store."""
    return sum(
        1000 for r in harness.store.list(POD).records if r.node and r.name.split("-")[0] in queues
    )


# ---------------------------------------------------------------- 6 and 7: binds that fail


class Refusing:
    """A store whose next binds are answered otherwise."""

    def __init__(self, rig: Rig, reply: Reply, times: int) -> None:
        self.left, self.requested = times, 0
        for name in ("bind", "bind_units"):
            self._wrap(rig, name, reply)

    def _wrap(self, rig: Rig, name: str, reply: Reply) -> None:
        send = getattr(rig.face, name)

        def answer(binds: Any) -> Any:
            self.requested += 1
            if self.left <= 0:
                return send(binds)
            self.left -= 1
            units = name == "bind_units"
            return [[reply] * len(each) if units else reply for each in binds]

        setattr(rig.face, name, answer)
        rig.plane.restart_binder(rig.clock.monotonic())  # it has taken the store's own


def phase(rig: Rig) -> str:
    record = rig.store.get(POD_GROUP, "default", "g")
    assert record is not None
    return str(msgspec.json.decode(record.body).get("status", {}).get("phase", ""))


def test_case_6_the_status_of_a_group_follows_its_binds_and_not_its_claims() -> None:
    """volcano#4383: a bind failed, and the PodGroup said Running."""
    rig = Rig(make_node("n1", cpu="4"), report=ReportConfig(events=False))
    rig.group("g", 2)
    rig.settle(1)
    refusing = Refusing(rig, Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN), times=1 << 30)
    rig.submit(*(make_pod(f"p{i}", cpu="1", group="g") for i in range(2)))
    rig.settle(30)
    assert (set(rig.placements().values()), phase(rig)) == ({""}, "PreScheduling")
    refusing.left = 0
    rig.settle(60)
    assert (set(rig.placements().values()), phase(rig)) == ({"n1"}, "Scheduled")


FAILURES = [
    Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT),
    Reply(WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS, retry_after=2.0),
    Reply(WriteOutcome.REFUSED, StatusReason.INTERNAL),
    Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN),
    Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT),
]


@pytest.mark.parametrize("reply", FAILURES, ids=lambda reply: reply.code.value)
@pytest.mark.parametrize("members", [1, 3])
def test_case_7_every_failure_of_an_admission_is_tried_again(reply: Reply, members: int) -> None:
    """kueue#241: a write conflict on admission was never retried."""
    rig = Rig(make_node("n1", cpu="4"))
    more = {"group": "g"} if members > 1 else {}
    if members > 1:
        rig.group("g", members)
    refusing = Refusing(rig, reply, times=4)
    rig.submit(*(make_pod(f"p{i}", cpu="1", **more) for i in range(members)))
    rig.settle(120)
    assert (set(rig.placements().values()), refusing.left) == ({"n1"}, 0)
    assert refusing.requested < 20
    assert (rig.booked(), rig.breaches()) == (1000 * members, [])


# ---------------------------------------------------------------- 17: a group behind its pods


def test_case_17_pods_wait_for_the_group_that_they_name() -> None:
    """volcano#6010: the PodGroup lagged behind its pods, and a gang was bound in part."""
    rig = Rig(make_node("n1", cpu="2"))
    rig.submit(*(make_pod(f"p{i}", cpu="1", group="g") for i in range(3)))
    rig.settle(5)
    assert set(rig.placements().values()) == {""}
    rig.group("g", 3)
    rig.settle(5)
    assert set(rig.placements().values()) == {""}
    rig.create(NODE, make_node("n2", cpu="2"))
    rig.settle(5)
    assert "" not in rig.placements().values()


def test_case_17_a_group_whose_event_is_late_holds_its_pods_until_it_is_seen() -> None:
    rig = Rig(make_node("n1", cpu="2"))
    rig.settle()
    rig.group("g", 3)
    rig.during(drop_event=1.0)
    rig.submit(*(make_pod(f"p{i}", cpu="1", group="g") for i in range(3)))
    rig.settle(20)
    assert set(rig.placements().values()) == {""}
    rig.settle(20)
    assert set(rig.placements().values()) == {""}
    rig.create(NODE, make_node("n2", cpu="1"))
    rig.settle(5)
    assert "" not in rig.placements().values()


# ---------------------------------------------------------------- 25: what counts for a quota


def test_case_25_a_pod_that_is_replaced_is_one_pod_to_its_queue() -> None:
    """kueue#11195, #14609: old and new counted both, or neither."""
    rig = Rig(make_node("n1", cpu="9"))
    rig.create(QUEUE, queue("a", limit={"cpu": "3"}))
    rig.submit(*(in_queue(f"a-{i}", "a") for i in range(5)))
    rig.settle(2)
    for turn in range(4):
        names = [name for name, node in rig.placements().items() if node]
        rig.delete(names[0])
        rig.submit(in_queue(f"a-new{turn}", "a"))
        rig.settle(2)
        assert (counted(rig, "a"), live(rig, "a")) == (3000, 3000)


def test_case_25_a_queue_that_is_deleted_goes_on_counting_until_its_pods_have_ended() -> None:
    """kueue#5985: a queue was deleted, and its cohort kept (or lost) its quota."""
    rig = Rig(make_node("n1", cpu="9"))
    rig.create(QUEUE, queue("top", limit={"cpu": "4"}))
    rig.create(QUEUE, queue("a", parent="top"), queue("b", parent="top"))
    rig.submit(*(in_queue(f"a-{i}", "a") for i in range(3)))
    rig.settle(2)
    rig.store.delete(QUEUE, [Deletion("", "a")])
    rig.submit(*(in_queue(f"b-{i}", "b") for i in range(4)))
    rig.settle(5)
    assert (live(rig, "a"), live(rig, "b"), counted(rig, "top")) == (3000, 1000, 4000)
    for i in range(3):
        rig.delete(f"a-{i}")
    rig.settle(5)
    assert (live(rig, "b"), counted(rig, "top")) == (4000, 4000)


def test_case_25_an_evicted_pod_counts_until_it_has_gone_and_not_longer() -> None:
    """kueue#14811: evicted, but charged permanently."""
    rig = Rig(make_node("n1", cpu="9"))
    rig.create(QUEUE, queue("a", limit={"cpu": "2"}))
    rig.submit(*(held(in_queue(f"a-{i}", "a")) for i in range(2)))
    rig.settle(2)
    rig.delete("a-0")
    rig.submit(in_queue("a-late", "a"))
    rig.settle(20)
    assert (rig.node_of("a-late"), counted(rig, "a")) == ("", 2000)
    finish_eviction(rig, "a-0")
    rig.settle(5)
    assert (rig.node_of("a-late"), counted(rig, "a")) == ("n1", 2000)


# ---------------------------------------------------------------- 26: one writer


def test_case_26_the_core_holds_no_lock(repo_root: Path) -> None:
    """yunikorn-core#94, #228, #253, #347: locks taken in different orders."""
    folders = ["api", "base", "state", "framework", "control/dispatcher", "control/scheduler"]
    folders += ["control/binder", "control/controllers", "explain"]
    files = [f for folder in folders for f in (repo_root / "src/stretto" / folder).rglob("*.py")]
    files.append(repo_root / "src/stretto/plane/plane.py")
    locks = re.compile(
        r"^\s*(import|from) (threading|multiprocessing|asyncio|queue)\b", re.MULTILINE
    )
    assert [f.name for f in files if locks.search(f.read_text())] == []


def test_case_26_an_observer_of_a_step_may_change_the_store_in_the_middle_of_it() -> None:
    rig = Rig(make_node("n1", cpu="4"), shards=3)
    made: list[str] = []

    def meddle(_: object) -> None:
        if len(made) < 6:
            made.append(f"p{len(made)}")
            rig.submit(make_pod(made[-1], cpu="1"))
            rig.shrink("n1", cpu=str(4 + len(made)))
            if len(made) == 3:
                rig.delete("p0")

    rig.plane.observers.append(meddle)
    rig.submit(make_pod("first", cpu="1"))
    rig.settle(5)
    assert (len(made), set(rig.placements().values())) == (6, {"n1"})
    assert (rig.booked(), rig.breaches(), rig.plane.dispatcher.audit()) == (6000, [], [])


# ---------------------------------------------------------------- 27: over a lowered quota


def test_case_27_running_pods_over_a_lowered_limit_stay_and_count() -> None:
    """yunikorn-core#1068, k8shim#404: after a restart they were rejected."""
    rig = Rig(make_node("n1", cpu="9"))
    rig.create(QUEUE, queue("a", limit={"cpu": "6"}))
    rig.submit(*(in_queue(f"a-{i}", "a") for i in range(7)))
    rig.settle(2)
    rig.replace(QUEUE, queue("a", limit={"cpu": "2"}))
    rig.settle(2)
    again = Harness(store=rig.store)
    again.settle(5)
    assert (live(again, "a"), counted(again, "a")) == (6000, 6000)
    names = [name for name, node in again.placements().items() if node]
    for name in names[:4]:
        again.delete(name)
    again.settle(5)
    assert (live(again, "a"), counted(again, "a")) == (2000, 2000)
    again.delete(names[4])
    again.settle(5)
    assert (live(again, "a"), counted(again, "a")) == (2000, 2000)


def test_case_27_a_node_that_goes_takes_capacity_before_usage_and_shares_stand_it() -> None:
    """yunikorn-core#724: a node was removed, and capacity fell below usage."""
    rig = Rig(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    rig.create(QUEUE, queue("root", policy="DRF"), queue("a"), queue("b"))
    rig.submit(*(in_queue(f"{q}-{i}", q) for q in "ab" for i in range(4)))
    rig.settle(2)
    rig.drop(NODE, "n2")
    rig.settle(2)
    shares = {facts.name: facts.share for facts in rig.plane.dispatcher.views.queues()}
    assert counted(rig, "a") + counted(rig, "b") == 8000
    assert shares["a"] + shares["b"] == pytest.approx(2.0)
    gone = [r.name for r in rig.store.list(POD).records if r.node == "n2"]
    for name in gone:
        rig.delete(name)
    rig.settle(2)
    assert (counted(rig, "a") + counted(rig, "b"), rig.breaches()) == (4000, [])


# ---------------------------------------------------------------- 29: free on the real end


def test_case_29_a_terminating_pod_keeps_its_port_and_its_capacity() -> None:
    """nomad#24904: a port was used again while the former holder was stopping."""
    rig = Rig(make_node("n1", cpu="4"))
    rig.submit(held(make_pod("old", cpu="1", ports=[80])))
    rig.settle()
    rig.delete("old")
    rig.submit(make_pod("new", cpu="1", ports=[80]), make_pod("large", cpu="4"))
    rig.settle(120)
    assert (rig.node_of("new"), rig.node_of("large"), rig.used("n1")) == ("", "", 1000)
    finish_eviction(rig, "old")
    rig.settle(10)
    assert (rig.node_of("new"), rig.used("n1")) == ("n1", 1000)


def test_case_29_a_phase_ends_a_pod_once_and_its_deletion_frees_nothing_more() -> None:
    """k/k#106884: a phase said "done" and so did the deletion."""
    rig = Rig(make_node("n1", cpu="4"))
    rig.submit(make_pod("job", cpu="3"), make_pod("other", cpu="1"))
    rig.settle()
    done = {"status": {"phase": "Succeeded"}}
    rig.store.patch_status(POD, [Patch("default", "job", done)])
    rig.settle()
    assert rig.used("n1") == 1000
    rig.delete("job")
    rig.settle()
    assert (rig.used("n1"), rig.breaches()) == (1000, [])


# ---------------------------------------------------------------- 40: a flood of one unit


def test_case_40_a_job_that_restarts_without_end_is_one_unit_with_one_attempt() -> None:
    """nomad#13933, #15579: crash-looping jobs made a flood of evaluations for hours."""
    rig = Rig(make_node("n1", cpu="4"))
    rig.submit(make_pod("calm", cpu="4"))
    rig.settle()
    tried: Counter[str] = Counter()

    def count(step: Any) -> None:
        for plan in step.plans:
            tried["setbacks"] += len(plan.setbacks)

    rig.plane.observers.append(count)
    owner = {**OWNER, "controller": True}
    for turn in range(20):
        for i in range(25):
            if turn:
                rig.delete(f"w{turn - 1}-{i}")
            rig.submit(make_pod(f"w{turn}-{i}", cpu="2", owner=owner))
        rig.plane.run_until_idle()
    units = [unit for unit in rig.plane.units if unit.key.startswith("OwnerUnit")]
    states = rig.plane.cluster.pods.state[: rig.plane.cluster.pods.length].tolist()
    assert (len(units), states.count(int(PodState.UNSCHEDULABLE))) == (1, 25)
    assert tried["setbacks"] <= 2
    assert (rig.plane.dispatcher.audit(), rig.breaches()) == ([], [])
