"""The status of Queues and PodGroups in the store."""

from collections.abc import Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import Any, cast

import msgspec
import pytest

from stretto.api.wire.kinds import POD, POD_GROUP, QUEUE, WORKLOAD_POD_GROUP, Kind
from stretto.control.reporting.reporter import ReportConfig
from stretto.stores.store import (
    Deletion,
    Patch,
    Replies,
    Reply,
    StatusReason,
    Write,
    WriteOutcome,
    WriteVerb,
)
from stretto.testing import Harness, make_group, make_node, make_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)


def make_harness(cpu: str = "4") -> Harness:
    return Harness([make_node("n", cpu=cpu)], config={"report": ReportConfig(events=False)})


def put(harness: Harness, name: str, **spec: Any) -> None:
    meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    harness.create(QUEUE, msgspec.json.encode({**meta, "spec": spec}))


def status(harness: Harness, kind: Kind, name: str, namespace: str = "") -> dict[str, Any]:
    record = harness.store.get(kind, namespace, name)
    assert record is not None
    found: dict[str, Any] = msgspec.json.decode(record.body).get("status", {})
    return found


def group_status(harness: Harness, name: str) -> dict[str, Any]:
    return status(harness, POD_GROUP, name, "default")


def in_queue(name: str, queue: str, **more: Any) -> bytes:
    return make_pod(name, cpu="1", annotations={"stretto.dev/queue": queue}, **more)


def test_a_queue_shows_its_use_its_loans_and_its_pending_pods() -> None:
    harness = make_harness()
    put(harness, "top", guarantee={"cpu": "2"})
    put(harness, "a", parent="top", policy="FifoSkip", guarantee={"cpu": "1"}, limit={"cpu": "3"})
    harness.submit(*(in_queue(f"p{i}", "a") for i in range(5)))
    harness.settle(5)
    said = status(harness, QUEUE, "a")
    assert (said["used"]["cpu"], said["borrowed"]["cpu"]) == ("3", "2")
    assert (said["running"], said["pending"], said["shareMilli"]) == (3, 2, 750)
    assert status(harness, QUEUE, "top")["pending"] == 2


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"parent": "b"}, {"parent": "a"}, "is a cycle"),
        ({"parent": "nowhere"}, {}, "this queue does not exist"),
        ({"parent": "b", "guarantee": {"cpu": "9"}}, {"guarantee": {"cpu": "2"}}, "b has 2"),
        (
            {"guarantee": {"cpu": "-1"}},
            {},
            "guarantee.cpu: got '-1', expected an amount of 0 or more",
        ),
        ({"limit": {"memory": "-1Gi"}}, {}, "limit.memory: got '-1Gi', expected an amount"),
        ({"maxRunningUnits": -1}, {}, "got -1, expected 0 or more; 0 closes the queue"),
        ({"weight": 0}, {}, "expected a number above 0; use 1 for an equal share"),
    ],
)
def test_a_contradiction_is_reported_on_the_queue_and_the_rest_continues(
    first: dict[str, Any], second: dict[str, Any], expected: str
) -> None:
    harness = make_harness()
    put(harness, "a", **first)
    put(harness, "b", **second)
    harness.submit(in_queue("p", "a"), in_queue("q", "b"))
    harness.settle(5)
    said = status(harness, QUEUE, "a")["conditions"][0]
    assert said["status"] == "False"
    assert expected in said["message"]
    assert all(harness.placements().values())


def test_an_unused_queue_reports_its_errors_too() -> None:
    harness = make_harness()
    put(harness, "a", limit={"cpu": "-3"})
    harness.settle(5)
    assert (
        "expected an amount of 0 or more" in status(harness, QUEUE, "a")["conditions"][0]["message"]
    )


@pytest.mark.parametrize("number", [0, -3])
def test_a_group_with_an_impossible_minimum_stays_pending_and_reports_it(number: int) -> None:
    harness = make_harness()
    harness.create(POD_GROUP, make_group("g", number))
    harness.submit(make_pod("p", group="g"), make_pod("other"))
    harness.settle(5)
    said = status(harness, POD_GROUP, "g", "default")
    assert said["phase"] == "Pending"
    assert "expected a number of pods from 1 on" in said["conditions"][-1]["message"]
    assert harness.placements()["p"] == ""
    assert harness.placements()["other"]


def test_a_lowered_limit_is_reported_until_enough_has_ended() -> None:
    harness = make_harness()
    put(harness, "a", policy="FifoSkip", limit={"cpu": "3"})
    harness.submit(*(in_queue(f"p{i}", "a") for i in range(3)))
    harness.settle(3)
    harness.store.patch(QUEUE, [Patch("", "a", {"spec": {"limit": {"cpu": "1"}}})])
    harness.settle(3)
    assert "3 used, limit 1" in status(harness, QUEUE, "a")["conditions"][0]["message"]
    for name in ("p0", "p1"):
        harness.delete(name)
    harness.settle(3)
    assert status(harness, QUEUE, "a")["conditions"][0]["status"] == "True"


def test_a_group_goes_through_its_phases_in_the_store() -> None:
    harness = make_harness(cpu="1")
    harness.group("g", 2)
    harness.settle(2)
    assert group_status(harness, "g")["phase"] == "Pending"
    harness.submit(*(make_pod(f"g-{i}", cpu="1", group="g") for i in range(2)))
    harness.settle(2)
    said = group_status(harness, "g")
    assert (said["phase"], bool(said["scheduleStartTime"])) == ("PreScheduling", True)
    harness.delete("g-0")
    harness.settle(2)
    assert group_status(harness, "g")["phase"] == "Pending"


def test_a_group_that_runs_is_scheduled_and_has_conditions() -> None:
    harness = make_harness()
    harness.group("g", 2)
    harness.submit(*(make_pod(f"g-{i}", cpu="1", group="g") for i in range(2)))
    harness.settle(3)
    said = group_status(harness, "g")
    assert (said["phase"], said["running"]) == ("Scheduled", 2)
    assert [each["phase"] for each in said["conditions"]][-1] == "Scheduled"


def test_a_group_that_is_late_has_timed_out() -> None:
    harness = make_harness(cpu="1")
    harness.group("g", 2, scheduleTimeoutSeconds=10)
    harness.submit(*(make_pod(f"g-{i}", cpu="1", group="g") for i in range(2)))
    harness.settle(15)
    assert group_status(harness, "g")["phase"] == "Timeout"


def test_a_minimum_changed_while_the_group_runs_is_reported_and_evicts_no_pod() -> None:
    harness = make_harness()
    harness.group("g", 2)
    harness.submit(*(make_pod(f"g-{i}", cpu="1", group="g") for i in range(2)))
    harness.settle(3)
    harness.store.patch(POD_GROUP, [Patch("default", "g", {"spec": {"minMember": 4}})])
    harness.settle(3)
    said = group_status(harness, "g")["conditions"][-1]
    assert said["reason"] == "MinMemberChanged"
    assert "2 when the group was scheduled, 4 now" in said["message"]
    harness.submit(make_pod("g-9", cpu="1", group="g"))
    harness.settle(3)
    assert all(harness.placements().values())


# ---------------------------------------------------------------- Kubernetes' own groups


def workload_group(name: str, gang: int | None) -> bytes:
    policy = {"basic": {}} if gang is None else {"gang": {"minCount": gang}}
    meta = {"name": name, "namespace": "default"}
    body = {"apiVersion": WORKLOAD_POD_GROUP.api_version, "kind": "PodGroup", "metadata": meta}
    return msgspec.json.encode({**body, "spec": {"schedulingPolicy": policy}})


def member(name: str, group: str) -> bytes:
    return make_pod(name, cpu="1", spec={"schedulingGroup": {"podGroupName": group}})


def test_pods_that_name_a_group_of_kubernetes_start_together_or_not_at_all() -> None:
    harness = make_harness(cpu="3")
    harness.create(WORKLOAD_POD_GROUP, workload_group("g", 3))
    harness.submit(member("a", "g"), member("b", "g"))
    harness.settle(3)
    assert harness.placements() == {"a": "", "b": ""}
    harness.submit(member("c", "g"))
    harness.settle(3)
    assert all(harness.placements().values())
    said = status(harness, WORKLOAD_POD_GROUP, "g", "default")["conditions"][0]
    assert (said["type"], said["status"]) == ("PodGroupScheduled", "True")


def test_a_group_of_the_basic_policy_admits_its_pods_one_by_one() -> None:
    harness = make_harness(cpu="1")
    harness.create(WORKLOAD_POD_GROUP, workload_group("g", None))
    harness.submit(member("a", "g"), member("b", "g"))
    harness.settle(3)
    assert sorted(map(bool, harness.placements().values())) == [False, True]


def test_a_group_of_goedel_with_the_same_name_is_another_group() -> None:
    harness = make_harness()
    harness.create(WORKLOAD_POD_GROUP, workload_group("g", 2))
    harness.group("g", 2)
    harness.submit(member("a", "g"), make_pod("b", cpu="1", group="g"))
    harness.settle(3)
    assert harness.placements() == {"a": "", "b": ""}


def test_a_gang_of_kubernetes_is_still_whole_for_a_new_plane() -> None:
    harness = make_harness()
    harness.create(WORKLOAD_POD_GROUP, workload_group("g", 2))
    harness.submit(member("a", "g"), member("b", "g"))
    harness.settle(3)
    harness.store.delete(WORKLOAD_POD_GROUP, [Deletion("default", "missing")])
    again = Harness(store=harness.store)
    again.submit(member("c", "g"))
    again.settle(3)
    assert all(again.placements().values())


def test_a_store_that_answers_later_is_not_waited_for() -> None:
    harness, sent = make_harness(), list[tuple[Kind, Sequence[Patch], Future[Replies]]]()

    direct = harness.store.begin

    def begin(write: Write) -> Future[Replies]:
        if write.verb is not WriteVerb.PATCH_STATUS:
            return direct(write)
        sent.append((write.kind, cast("Sequence[Patch]", write.items), Future()))
        return sent[-1][2]

    assert harness.plane.statuses is not None
    harness.store.begin = begin  # type: ignore[method-assign]
    put(harness, "a", policy="FifoSkip", limit={"cpu": "3"})
    harness.settle(3)
    harness.submit(in_queue("p", "a"))
    harness.settle(3)
    assert [kind for kind, _, _ in sent] == [QUEUE]
    bound = harness.store.get(POD, "default", "p")
    assert bound is not None
    assert bound.node == "n"
    kind, patches, answers = sent[0]
    answers.set_result(harness.store.patch_status(kind, patches))
    harness.settle(3)
    assert len(sent) == 2
    assert sent[1][1][0].patch["status"]["running"] == 1


def gang(harness: Harness, name: str) -> None:
    harness.group(name, 2)
    harness.submit(*(make_pod(f"{name}-{i}", cpu="1", group=name) for i in range(2)))


def test_a_group_that_replaces_one_with_an_equal_status_is_reported_too() -> None:
    harness = make_harness()
    gang(harness, "g")
    harness.settle(3)
    harness.store.delete(POD, [Deletion("default", f"g-{i}") for i in range(2)])
    harness.store.delete(POD_GROUP, [Deletion("default", "g")])
    harness.settle()
    gang(harness, "g")
    harness.settle(3)
    assert group_status(harness, "g")["phase"] == "Scheduled"


@pytest.mark.parametrize(
    ("code", "gaps"),
    [
        (StatusReason.NOT_FOUND, [1, 2, 4, 8, 16, 32, 60, 60]),
        (StatusReason.CONFLICT, [1] * 8),
        (StatusReason.UNAVAILABLE, [1] * 8),
    ],
)
def test_a_permanently_rejected_status_is_retried_with_back_off(
    code: StatusReason, gaps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, sent = make_harness(), list[float]()

    def refuse(_: Kind, patches: Sequence[Patch]) -> Replies:
        sent.append(harness.clock.monotonic())
        return [Reply(WriteOutcome.REFUSED, code=code)] * len(patches)

    monkeypatch.setattr(harness.store, "patch_status", refuse)
    gang(harness, "g")
    harness.settle(200)
    assert [round(after - before) for before, after in pairwise(sent)][:8] == gaps


def test_nothing_is_kept_of_groups_that_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.control.reporting.statuses.AT_ONCE", 2)
    harness = make_harness()
    for number in range(8):
        gang(harness, f"g{number}")
        harness.settle(2)
        harness.store.delete(POD, [Deletion("default", f"g{number}-{i}") for i in range(2)])
        harness.store.delete(POD_GROUP, [Deletion("default", f"g{number}")])
    harness.settle(2)
    gang(harness, "last")
    harness.settle(2)
    statuses = harness.plane.statuses
    assert statuses is not None
    assert len(statuses._reported) <= 4


def test_a_group_with_binds_in_flight_gets_no_report_yet() -> None:
    harness = make_harness()
    statuses, units = harness.plane.statuses, harness.plane.units
    assert statuses is not None
    harness.group("g", 2)
    statuses._unanswered_rows = lambda: {row for unit in units for row in unit.bound}
    harness.submit(*(make_pod(f"g-{i}", cpu="1", group="g") for i in range(2)))
    harness.settle(3)
    assert group_status(harness, "g").get("phase") != "Scheduled"
    statuses._unanswered_rows = frozenset
    harness.settle(2)
    assert group_status(harness, "g")["phase"] == "Scheduled"
