"""Tasks of frameworks as pods on the nodes of offers."""

from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import Clock, ManualClock
from stretto.base.errors import NotAllowedError
from stretto.base.rng import Rng
from stretto.offers.master.api.metrics import snapshot
from stretto.offers.nodes.writes import release_all
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import (
    Deletion,
    Patch,
    Replies,
    Reply,
    StatusReason,
    WriteOutcome,
)
from tests.support.losing_store import LosingStore
from tests.support.mesos import Body
from tests.support.offered_nodes import PoolBench, node


def started(**more: Any) -> tuple[PoolBench, str, Body]:
    """A bench with one task, the framework and the pod of the task."""
    bench = PoolBench(node("n1"))
    framework = bench.subscribe(**more)
    bench.settle()
    bench.start(framework, "web.1")
    (pod,) = bench.pods()
    return bench, framework, pod


def last_status(bench: PoolBench) -> Body:
    status: Body = [e for e in bench.events if e["type"] == "UPDATE"][-1]["update"]["status"]
    return status


def test_a_launched_task_is_a_pod_on_the_node_of_its_offer() -> None:
    bench, framework, pod = started()
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["spec"]["restartPolicy"] == "Never"
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c", "sleep 5"]
    assert container["resources"]["requests"] == {"cpu": "1000m", "memory": str(32 << 20)}
    assert pod["metadata"]["labels"]["stretto.dev/framework"] == framework
    assert bench.statuses() == [("web.1", "TASK_STARTING")]


def test_the_phase_of_the_pod_is_the_state_of_the_task() -> None:
    bench, framework, pod = started()
    bench.set_phase(pod["metadata"]["name"], "Running", running={})
    bench.set_phase(pod["metadata"]["name"], "Succeeded", terminated={"exitCode": 0})
    bench.acknowledge(framework)
    states = [state for _, state in bench.statuses()]
    assert states == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]


def test_an_update_waits_for_the_acknowledgement_of_the_one_before() -> None:
    bench, _, pod = started()
    bench.set_phase(pod["metadata"]["name"], "Running", running={})
    assert [state for _, state in bench.statuses()] == ["TASK_STARTING"]


def test_an_update_without_acknowledgement_is_sent_again() -> None:
    bench, _, _ = started()
    bench.wait(10)
    assert [state for _, state in bench.statuses()] == ["TASK_STARTING", "TASK_STARTING"]


def test_an_exit_code_fails_the_task_with_its_number() -> None:
    bench, framework, pod = started()
    bench.set_phase(pod["metadata"]["name"], "Failed", terminated={"exitCode": 3})
    bench.acknowledge(framework)
    status = last_status(bench)
    assert (status["state"], status["message"]) == ("TASK_FAILED", "Command exited with status 3")


def test_a_container_out_of_memory_names_the_limit() -> None:
    bench, framework, pod = started()
    ended = {"exitCode": 137, "reason": "OOMKilled"}
    bench.set_phase(pod["metadata"]["name"], "Failed", terminated=ended)
    bench.acknowledge(framework)
    assert last_status(bench)["reason"] == "REASON_CONTAINER_LIMITATION_MEMORY"


def test_a_kill_deletes_the_pod() -> None:
    bench, framework, _ = started()
    bench.acknowledge(framework)
    bench.call(framework, "KILL", task_id={"value": "web.1"})
    bench.settle()
    assert bench.pods() == []
    assert bench.statuses()[-1] == ("web.1", "TASK_KILLED")


def test_a_pod_is_deleted_once_the_end_of_its_task_is_acknowledged() -> None:
    bench, framework, pod = started()
    bench.set_phase(pod["metadata"]["name"], "Succeeded", terminated={"exitCode": 0})
    assert len(bench.pods()) == 1
    bench.acknowledge(framework)
    assert bench.pods() == []


def test_a_pod_that_another_client_deletes_fails_its_task() -> None:
    bench, framework, pod = started()
    bench.acknowledge(framework)
    bench.delete(POD, pod["metadata"]["name"], "default")
    status = last_status(bench)
    assert (status["state"], status["reason"]) == ("TASK_FAILED", "REASON_CONTAINER_PREEMPTED")


def test_the_end_of_a_framework_deletes_its_pods() -> None:
    bench, framework, _ = started()
    bench.call(framework, "TEARDOWN")
    bench.settle()
    assert bench.pods() == []


def test_nothing_is_sent_about_a_deleted_pod_of_a_framework_that_has_ended() -> None:
    bench, framework, _ = started()
    bench.call(framework, "TEARDOWN")
    bench.settle()
    assert bench.pool is not None
    assert bench.pool.nodes.tasks.next_due == inf


def test_a_task_that_needs_an_agent_fails_with_the_reason() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "t", command={"value": "true", "uris": [{"value": "http://x/y"}]})
    assert bench.pods() == []
    assert "command.uris" in last_status(bench)["message"]


def test_a_deleted_node_loses_its_tasks() -> None:
    bench, framework, _ = started()
    bench.acknowledge(framework)
    bench.delete(NODE, "n1")
    assert bench.statuses()[-1] == ("web.1", "TASK_LOST")


def test_a_task_does_not_start_again_when_its_pod_is_deleted_before_it_is_seen() -> None:
    store = LosingStore(ManualClock(1000.0))
    bench = PoolBench(node("n1"), store=store, clock=store.clock)
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "t")
    for _ in range(6):
        bench.wait(1)
    bench.set_phase(bench.pods()[0]["metadata"]["name"], "Failed")
    bench.acknowledge(framework)
    assert (store.created, bench.pods()) == (1, [])
    assert bench.statuses()[-1] == ("t", "TASK_FAILED")


def test_a_task_without_a_visible_pod_survives_changed_labels_of_its_node() -> None:
    bench = PoolBench(node("n1"))
    framework = bench.subscribe()
    bench.settle()
    bench.store.patch(NODE, [Patch("", "n1", {"metadata": {"labels": {"rack": "k2"}}})])
    bench.start(framework, "t")
    assert bench.statuses() == [("t", "TASK_STARTING")]


def test_a_node_of_the_same_name_does_not_inherit_tasks() -> None:
    bench, framework, _ = started()
    bench.store.delete(NODE, [Deletion("", "n1")])
    bench.create(NODE, node("n1"))
    bench.settle()
    (agent,) = bench.master.state.agents
    assert agent.task(framework, "web.1") is None


class ForbiddingStore(MemoryStore):
    """A store whose master may not patch pods until the right is granted."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, Rng(2))
        self.tries = 0
        self.grants = False

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        if self.grants:
            return super().patch(kind, patches)
        self.tries += 1
        text = "pods is forbidden"
        return [Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN, text) for _ in patches]


def forbidden() -> tuple[PoolBench, ForbiddingStore]:
    """A bench whose only pod is deleted, and cannot be released."""
    clock = ManualClock(1000.0)
    store = ForbiddingStore(clock)
    bench = PoolBench(node("n1"), store=store, clock=clock)
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "web.1")
    bench.delete(POD, bench.pods()[0]["metadata"]["name"], "default")
    return bench, store


def test_a_release_that_is_refused_is_repeated_later_each_time() -> None:
    bench, store = forbidden()
    for _ in range(30):
        bench.wait(1)
    assert store.tries == 5
    store.grants = True
    bench.wait(32)
    assert bench.pods() == []


def test_all_pods_are_released_after_the_last_master() -> None:
    bench, store = forbidden()
    bench.stop()
    with pytest.raises(NotAllowedError, match=r"pod web-1-\w+ .*: pods is forbidden"):
        release_all(store, "default")
    store.grants = True
    assert (release_all(store, "default"), bench.pods()) == (1, [])
    assert release_all(store, "default") == 0


def test_a_refused_release_is_shown_until_it_succeeds() -> None:
    bench, store = forbidden()
    tasks = bench.pool.nodes.tasks if bench.pool is not None else None
    assert tasks is not None
    assert "pods is forbidden" in tasks.trouble
    assert snapshot(bench.master.state)["stretto/refused_pod_writes"] == 1
    store.grants = True
    bench.wait(60)
    assert (tasks.trouble, snapshot(bench.master.state)["stretto/refused_pod_writes"]) == ("", 0)


def ready(bench: PoolBench, status: str) -> None:
    conditions = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
    bench.store.patch_status(NODE, [Patch("", "n1", conditions)])
    bench.settle()


def test_a_node_that_does_not_answer_is_unreachable_and_returns_with_its_tasks() -> None:
    aware = {"capabilities": [{"type": "PARTITION_AWARE"}]}
    bench, framework, pod = started(**aware)
    bench.set_phase(pod["metadata"]["name"], "Running", running={})
    bench.acknowledge(framework)
    ready(bench, "Unknown")
    for _ in range(7):
        bench.wait(15)
    assert bench.statuses()[-1] == ("web.1", "TASK_UNREACHABLE")
    ready(bench, "True")
    assert bench.statuses()[-1] == ("web.1", "TASK_RUNNING")


def test_an_update_is_sent_again_when_its_node_answers_again() -> None:
    bench, framework, _ = started()
    for _ in range(3):
        bench.wait(40)
    ready(bench, "Unknown")
    bench.acknowledge(framework)
    sent = len(bench.statuses())
    ready(bench, "True")
    assert bench.statuses()[sent:] == [("web.1", "TASK_STARTING")]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"check": {"type": "TCP", "tcp": {"port": 80}}}, "check"),
        ({"command": {"value": "x", "user": "daemon"}}, "command.user"),
    ],
)
def test_what_a_pod_cannot_do_fails_its_task(more: Body, field: str) -> None:
    bench, _ = launched(**more)
    assert bench.pods() == []
    assert f"task t: {field}" in last_status(bench)["message"]


def test_a_task_that_runs_too_long_fails_with_the_reason() -> None:
    bench, framework = launched(max_completion_time={"nanoseconds": 1_500_000_000})
    (pod,) = bench.pods()
    assert pod["spec"]["activeDeadlineSeconds"] == 2
    status = {"phase": "Failed", "reason": "DeadlineExceeded"}
    bench.store.patch_status(POD, [Patch("default", pod["metadata"]["name"], {"status": status})])
    bench.settle()
    bench.acknowledge(framework)
    assert last_status(bench)["reason"] == "REASON_MAX_COMPLETION_TIME_REACHED"


def test_a_command_runs_as_the_user_with_its_number() -> None:
    bench, _ = launched(command={"value": "id", "user": "1000"})
    (pod,) = bench.pods()
    assert pod["spec"]["containers"][0]["securityContext"] == {"runAsUser": 1000}


def launched(**more: Any) -> tuple[PoolBench, str]:
    """A bench whose framework has launched a task, and the framework."""
    bench = PoolBench(node("n1"))
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "t", **more)
    return bench, framework
