"""Pending pods are reported in the store: in kube-scheduler's words, once, cleared at the end."""

import json
from collections import Counter
from sys import getrefcount
from typing import Any

import pytest

from stretto.api.wire.kinds import EVENT, POD, POD_GROUP, QUEUE, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.reporting.events import EventWriter
from stretto.control.reporting.reporter import ReportConfig
from stretto.control.reporting.wording import scheduled_event
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch, Record, Reply, WriteOutcome
from stretto.testing import Harness, make_group, make_node, make_pod

GATED = {"schedulingGates": [{"name": "wait"}]}


def harness(report: ReportConfig | None = None, **more: Any) -> Harness:
    config = {"tier": "numpy", "report": report or ReportConfig()}
    return Harness(nodes=[make_node("n", cpu="4")], config=config, **more)


def conditions(at: Harness, name: str) -> list[dict[str, Any]]:
    record = at.store.get(POD, "default", name)
    assert record is not None
    found: list[dict[str, Any]] = json.loads(record.body).get("status", {}).get("conditions", [])
    return found


def all_events(at: Harness) -> list[dict[str, Any]]:
    return [json.loads(record.body) for record in at.store.list(EVENT).records]


def events(at: Harness) -> list[dict[str, Any]]:
    return [event for event in all_events(at) if event["reason"] != "Scheduled"]


def scheduled(at: Harness) -> list[dict[str, Any]]:
    return [event for event in all_events(at) if event["reason"] == "Scheduled"]


def test_a_pod_that_fits_nowhere_gets_a_condition_and_an_event() -> None:
    at = harness()
    at.submit(make_pod("big", cpu="64"))
    at.settle(1)
    (condition,) = conditions(at, "big")
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )
    (event,) = events(at)
    assert (event["reason"], event["type"], event["count"]) == ("FailedScheduling", "Warning", 1)
    assert event["message"] == condition["message"]
    assert event["involvedObject"]["name"] == "big"


def test_a_gated_pod_has_kubernetes_own_condition_and_no_event() -> None:
    at = harness()
    at.submit(make_pod("gated", spec=GATED))
    at.settle(1)
    (condition,) = conditions(at, "gated")
    assert condition["reason"] == "SchedulingGated"
    assert events(at) == []


def test_a_pod_that_joins_a_timed_out_gang_reports_it() -> None:
    at = harness()
    at.create(POD_GROUP, make_group("ring", 3, scheduleTimeoutSeconds=60))
    at.submit(make_pod("early", group="ring"))
    at.settle(100)
    at.submit(make_pod("late", group="ring"))
    at.settle(2)
    said = [conditions(at, name)[0]["message"] for name in ("early", "late")]
    assert said == ["timed out: 1 of the 3 pods it needs exist"] * 2


def test_what_no_longer_holds_is_taken_back() -> None:
    at = harness()
    at.submit(make_pod("first", cpu="4"))
    at.settle()
    at.submit(make_pod("second", cpu="4"))
    at.settle(1)
    assert conditions(at, "second")[0]["status"] == "False"
    at.delete("first")
    at.settle(15)
    assert at.node_of("second") == "n"
    (condition,) = conditions(at, "second")
    assert condition["status"] == "True"
    assert "reason" not in condition


def test_a_report_wakes_no_unit_and_is_not_repeated() -> None:
    at = harness()
    at.submit(*(make_pod(f"p{i}", cpu="64") for i in range(5)))
    at.settle(1)
    reporter = at.plane.reporter
    assert reporter is not None
    before = at.store.list(POD).version
    at.settle(30)
    assert reporter.counts == {"condition": 5, "event": 5}
    assert at.store.list(POD).version == before
    assert at.plane.cluster.own_writes == set()


def test_an_unchanged_pod_is_read_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at, read = harness(), list[float]()
    get = at.store.get

    def counted(kind: Kind, namespace: str, name: str) -> Record | None:
        read.append(at.clock.monotonic())
        return get(kind, namespace, name)

    monkeypatch.setattr(at.store, "get", counted)
    at.submit(make_pod("big", cpu="64"), make_pod("gated", spec=GATED))
    at.settle(120)
    assert len(read) == 2 * 2
    at.create_nodes(make_node("other"))
    at.settle(20)
    assert len(read) == 2 * 2 + 1
    assert "0/2 nodes" in conditions(at, "big")[0]["message"]


def test_other_conditions_of_a_pod_are_kept() -> None:
    at = harness()
    at.submit(make_pod("big", cpu="64"))
    mine = {"type": "Mine", "status": "True"}
    at.store.patch_status(POD, [Patch("default", "big", {"status": {"conditions": [mine]}})])
    at.settle(1)
    assert [each["type"] for each in conditions(at, "big")] == ["Mine", "PodScheduled"]


def test_a_malformed_pod_reports_its_error_once() -> None:
    at = harness()
    at.submit(make_pod("odd", annotations={"godel.bytedance.com/hard-constraints": "Fit:0"}))
    at.settle(30)
    (condition,), (event,) = conditions(at, "odd"), events(at)
    assert (condition["status"], condition["message"]) == ("False", event["message"])
    assert "hard-constraints: got 'Fit:0'" in condition["message"]


def test_a_pod_with_an_unknown_rule_reports_its_name() -> None:
    at = harness()
    at.submit(make_pod("odd", annotations={"godel.bytedance.com/hard-constraints": "Nope"}))
    at.settle(1)
    (condition,) = conditions(at, "odd")
    assert "1 hard constraint Nope names no plugin of this profile" in condition["message"]


def test_a_burst_is_reported_in_bounded_batches() -> None:
    at = harness(ReportConfig(at_once=10, every=1.0))
    at.submit(*(make_pod(f"p{i}", cpu="64") for i in range(35)))
    at.settle()
    counts = []
    for _ in range(4):
        counts.append(len(events(at)))
        at.settle(1)
    assert counts == [10, 20, 30, 35]


def test_an_event_is_repeated_periodically_as_the_same_object() -> None:
    at = harness(ReportConfig(again_after=1.0, event_every=5.0))
    at.submit(make_pod("big", cpu="64"))
    at.settle(1)
    at.submit(make_pod("other"))
    at.settle(1)
    assert [event["count"] for event in events(at)] == [1]
    at.clock.advance(6)
    at.submit(make_pod("another"))
    at.settle(1)
    assert [event["count"] for event in events(at)] == [2]


def test_a_gang_without_enough_pods_or_its_group_reports_it() -> None:
    at = harness()
    at.create(POD_GROUP, make_group("g", 3))
    at.submit(make_pod("a", group="g"), make_pod("b", group="absent"))
    at.settle(2)
    assert conditions(at, "a")[0]["message"] == "only 1 of the 3 pods of default/g exist"
    assert conditions(at, "b")[0]["message"] == "PodGroup default/absent does not exist"


def test_a_gang_below_its_minimum_reports_how_many_must_fit_together() -> None:
    at = harness()
    at.create(POD_GROUP, make_group("g", 3))
    at.submit(*(make_pod(f"p{i}", cpu="2", group="g") for i in range(3)))
    at.settle(2)
    expected = "1/1 nodes are available: default/g needs capacity for 3 pods together."
    assert conditions(at, "p0")[0]["message"] == expected


def test_a_bound_pod_gets_a_scheduled_event() -> None:
    at = harness()
    at.submit(make_pod("web"))
    at.settle(1)
    (event,) = all_events(at)
    assert (event["reason"], event["type"]) == ("Scheduled", "Normal")
    assert event["message"] == "Successfully assigned default/web to n"


def test_the_scheduled_events_of_a_burst_are_written_in_batches() -> None:
    at = harness(ReportConfig(scheduled_at_once=2, every=1.0))
    names = [f"p{i}" for i in range(5)]
    at.submit(*(make_pod(name, cpu="100m") for name in names))
    at.settle()
    assert len(scheduled(at)) == 2
    at.settle(3)
    assert sorted(event["involvedObject"]["name"] for event in scheduled(at)) == names


def test_a_pod_that_ends_before_its_turn_keeps_its_scheduled_event() -> None:
    at = harness(ReportConfig(scheduled_at_once=1, every=1.0))
    at.submit(make_pod("first"), make_pod("short"))
    at.settle()
    at.delete("short")
    at.settle(3)
    messages = {event["message"] for event in scheduled(at)}
    assert "Successfully assigned default/short to n" in messages


def test_no_scheduled_events_are_written_if_they_are_off() -> None:
    at = harness(ReportConfig(scheduled=False))
    at.submit(make_pod("web"))
    at.settle(1)
    assert all_events(at) == []


def test_events_are_removed_after_their_time() -> None:
    at = harness(ReportConfig(keep_events=60))
    at.submit(make_pod("big", cpu="64"))
    at.settle(1)
    at.delete("big")
    at.settle(1)
    at.clock.advance(100)
    at.submit(make_pod("web"))
    at.settle(1)
    assert events(at) == []


def test_the_remaining_reports_are_written_at_the_end() -> None:
    at = harness(ReportConfig(at_once=2, every=1e9))
    at.submit(*(make_pod(f"p{i}", cpu="64") for i in range(9)))
    at.settle()
    assert len(events(at)) == 2
    reporter = at.plane.reporter
    assert reporter is not None
    reporter.finish(at.clock.monotonic(), at.clock)
    assert len(events(at)) == 9


def test_a_pod_that_contradicts_itself_reports_why() -> None:
    at = harness()
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    notes = {"stretto.dev/min-member": "many"}
    at.submit(make_pod("odd", owner=owner, annotations=notes))
    at.settle(1)
    assert "min-member: got 'many'" in conditions(at, "odd")[0]["message"]


@pytest.mark.parametrize(
    "outcome", [WriteOutcome.CONFLICT, WriteOutcome.REFUSED, WriteOutcome.UNKNOWN]
)
def test_a_write_that_fails_stops_nothing_and_is_tried_again(
    outcome: WriteOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = harness()
    good = at.store.patch_status
    monkeypatch.setattr(at.store, "patch_status", lambda kind, some: [Reply(outcome)] * len(some))
    at.submit(make_pod("big", cpu="64"), make_pod("web"))
    at.settle(1)
    assert at.node_of("web") == "n"
    monkeypatch.setattr(at.store, "patch_status", good)
    at.settle(1)
    at.submit(make_pod("web-2"))
    at.settle(3)
    assert conditions(at, "big")[0]["status"] == "False"


def test_nothing_is_reported_unless_the_profile_enables_it() -> None:
    at = Harness(nodes=[make_node("n")], config={"tier": "numpy"})
    at.submit(make_pod("big", cpu="64"))
    at.settle(5)
    assert at.plane.reporter is None
    assert events(at) == []


# ---------------------------------------------------------------- held back by a queue's limit


def limited(**spec: Any) -> Harness:
    """A queue with limits, and three pods of two cores each that name it."""
    at = harness()
    at.create_nodes(make_node("m", cpu="64"))
    limit(at, **spec)
    notes = {"stretto.dev/queue": "research"}
    at.submit(*(make_pod(f"p{i}", cpu="2", annotations=notes) for i in range(3)))
    at.settle(2)
    return at


def limit(at: Harness, **spec: Any) -> None:
    spec = {"policy": "FifoSkip", **spec}
    body = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": "research"}}
    at.replace(QUEUE, json.dumps({**body, "spec": spec}).encode())


LIMITS: list[tuple[dict[str, Any], str]] = [
    ({"limit": {"cpu": "5"}}, "queue research has reached its limit: cpu 4 of 5 used, 2 requested"),
    ({"maxRunningUnits": 2}, "queue research has reached its limit: 2 of 2 units running"),
]


@pytest.mark.parametrize(("spec", "sentence"), LIMITS)
def test_a_unit_held_back_by_its_queue_reports_the_limit(
    spec: dict[str, Any], sentence: str
) -> None:
    at = limited(**spec)
    (condition,) = conditions(at, "p2")
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert (condition["reason"], condition["message"]) == ("QueueLimit", sentence)
    (event,) = events(at)
    assert (event["involvedObject"]["name"], event["message"]) == ("p2", sentence)


def test_a_limit_that_no_longer_holds_is_taken_back() -> None:
    at = limited(limit={"cpu": "5"})
    limit(at, limit={"cpu": "60"})
    at.settle(2)
    (condition,) = conditions(at, "p2")
    assert (at.node_of("p2") != "", condition["status"]) == (True, "True")


def test_a_raised_limit_keeps_the_turn_while_the_queue_blocks() -> None:
    at = limited(policy="FIFO", limit={"cpu": "4"})
    notes = {"stretto.dev/queue": "research"}
    at.submit(make_pod("q", cpu="1", annotations=notes))
    at.settle(2)
    assert conditions(at, "q")[0]["reason"] == "QueueLimit"
    limit(at, policy="FIFO", limit={"cpu": "5"})
    at.settle(30)
    assert conditions(at, "q")[0]["message"] == "waits for its turn in queue research"
    assert "cpu 4 of 5 used, 2 requested" in conditions(at, "p2")[0]["message"]


def test_pods_of_a_gang_under_a_limit_all_report_it() -> None:
    at = harness()
    limit(at, limit={"cpu": "3"})
    at.create(POD_GROUP, make_group("g", 2))
    notes = {"stretto.dev/queue": "research"}
    at.submit(*(make_pod(f"g{i}", cpu="2", group="g", annotations=notes) for i in range(2)))
    at.settle(2)
    said = {conditions(at, f"g{i}")[0]["message"] for i in range(2)}
    assert said == {"queue research has reached its limit: cpu 0 of 3 used, 4 requested"}


def test_the_event_of_a_pod_that_waits_longer_than_events_are_kept_is_written_again() -> None:
    at = harness(ReportConfig(again_after=1.0, event_every=20.0, keep_events=50.0))
    at.submit(make_pod("big", cpu="64"))
    at.settle(100)
    (event,) = events(at)
    assert event["involvedObject"]["name"] == "big"


def test_an_event_that_the_store_deletes_is_not_remembered() -> None:
    store, forever = MemoryStore(ManualClock(), Rng(1)), float("inf")
    writer = EventWriter(store, "stretto", forever, Counter())
    event = scheduled_event(Record(POD, "default", "web", "u", 0, b"", "n"), 1.0)
    before = getrefcount(event.name)
    writer.write([event])
    writer.collect(wait=True)
    after = getrefcount(event.name)
    assert after == before
