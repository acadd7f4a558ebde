"""Groups of tasks: one pod each."""

from typing import Any

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.stores.store import Patch
from tests.support.losing_store import LosingStore
from tests.support.mesos import Body, scalar, task
from tests.support.offered_nodes import PoolBench, node

DISK = {"ephemeral-storage": "1Gi"}


def launch_group(bench: PoolBench, framework: str, *names: str, **more: Any) -> None:
    """Launch a group of tasks with one CPU each on the last offer."""
    offer = bench.offer()
    executor = {
        "type": "DEFAULT",
        "executor_id": {"value": "e"},
        "framework_id": {"value": framework},
        "resources": [scalar("cpus", 0.1), scalar("mem", 32), scalar("disk", 1)],
    } | more
    tasks = [task(name, offer["agent_id"]["value"]) for name in names]
    group = {"executor": executor, "task_group": {"tasks": tasks}}
    operations = [{"type": "LAUNCH_GROUP", "launch_group": group}]
    bench.call(framework, "ACCEPT", offer_ids=[offer["id"]], operations=operations)


def started() -> tuple[PoolBench, str]:
    """A bench with the pod of a group of two tasks, and the framework."""
    bench = PoolBench(node("n1", resources=DISK))
    framework = bench.subscribe()
    bench.settle()
    launch_group(bench, framework, "a", "b")
    bench.settle()
    return bench, framework


def container(number: int, **state: Body) -> Body:
    return {"name": f"task-{number}", "state": state}


def end_first(bench: PoolBench, framework: str, code: int = 0) -> str:
    """The first task of the group ends, the second one runs on; the name of their pod."""
    name = bench.pods()[0]["metadata"]["name"]
    states = [container(0, terminated={"exitCode": code}), container(1, running={})]
    status = {"phase": "Running", "containerStatuses": states}
    bench.store.patch_status(POD, [Patch("default", name, {"status": status})])
    bench.settle()
    bench.acknowledge(framework)
    return str(name)


def test_a_group_of_tasks_is_one_pod() -> None:
    bench, _ = started()
    (pod,) = bench.pods()
    assert [each["name"] for each in pod["spec"]["containers"]] == ["task-0", "task-1"]
    assert bench.statuses() == [("a", "TASK_STARTING"), ("b", "TASK_STARTING")]


def test_each_task_of_a_group_ends_for_itself() -> None:
    bench, framework = started()
    end_first(bench, framework)
    assert bench.statuses()[-2:] == [("a", "TASK_FINISHED"), ("b", "TASK_RUNNING")]
    assert len(bench.pods()) == 1


def test_a_failed_task_of_a_group_kills_the_others() -> None:
    bench, framework = started()
    end_first(bench, framework, code=1)
    bench.acknowledge(framework)
    assert dict(bench.statuses()) == {"a": "TASK_FAILED", "b": "TASK_KILLED"}
    assert bench.pods() == []


def test_a_kill_of_one_task_of_a_group_kills_the_others() -> None:
    bench, framework = started()
    bench.call(framework, "KILL", task_id={"value": "b"})
    bench.settle()
    bench.acknowledge(framework)
    assert dict(bench.statuses()) == {"a": "TASK_KILLED", "b": "TASK_KILLED"}


def test_the_whole_pod_of_a_group_is_charged_until_its_last_task_has_ended() -> None:
    bench, framework = started()
    end_first(bench, framework)
    bench.wait(10)
    offered = [each.resources.scalars()["cpus"] for each in bench.master.state.offers]
    assert sum(offered) == 4000 - 2000 - 100


def test_an_executor_is_free_when_the_pod_of_its_group_is_gone() -> None:
    bench, framework = started()
    name = bench.pods()[0]["metadata"]["name"]
    bench.set_phase(name, "Succeeded")
    bench.acknowledge(framework)
    (agent,) = bench.master.state.agents
    assert (bench.pods(), agent.executors.get(framework, {})) == ([], {})


def test_a_group_does_not_run_beside_a_later_task_with_the_id_of_one_of_its_tasks() -> None:
    store = LosingStore(ManualClock(1000.0))
    bench = PoolBench(node("n1", resources=DISK), store=store, clock=store.clock)
    framework = bench.subscribe()
    bench.settle()
    launch_group(bench, framework, "a", "b")
    bench.settle()
    group = bench.pods()[0]["metadata"]["name"]
    bench.delete(NODE, "n1")
    bench.create(NODE, node("n1"))
    bench.settle()
    bench.start(framework, "b")
    bench.wait(6)
    bench.set_phase(group, "Failed")
    assert (store.created, bench.statuses()[-1]) == (2, ("b", "TASK_STARTING"))


def test_a_later_group_keeps_the_executor_of_a_former_one() -> None:
    bench, framework = started()
    name = bench.pods()[0]["metadata"]["name"]
    kept = {"metadata": {"finalizers": ["example.com/kept"]}}
    bench.store.patch(POD, [Patch("default", name, kept)])
    bench.set_phase(name, "Succeeded")
    bench.acknowledge(framework)
    launch_group(bench, framework, "a", "c")
    bench.settle()
    bench.store.patch(POD, [Patch("default", name, {"metadata": {"finalizers": None}})])
    bench.settle()
    (agent,) = bench.master.state.agents
    assert list(agent.executors[framework]) == ["e"]


def test_a_group_with_an_executor_of_its_framework_fails_with_the_reason() -> None:
    bench = PoolBench(node("n1", resources=DISK))
    framework = bench.subscribe()
    bench.settle()
    launch_group(bench, framework, "a", type="CUSTOM", command={"value": "./executor"})
    bench.settle()
    update = [each for each in bench.events if each["type"] == "UPDATE"][-1]["update"]["status"]
    assert (update["state"], bench.pods()) == ("TASK_FAILED", [])
    assert "custom executors need an agent" in update["message"]
    assert executors(bench, framework) == []


def executors(bench: PoolBench, framework: str) -> list[str]:
    (agent,) = bench.master.state.agents
    return list(agent.executors.get(framework, {}))


def test_an_executor_stays_when_its_node_registers_again() -> None:
    bench, framework = started()
    bench.store.patch(NODE, [Patch("", "n1", {"metadata": {"labels": {"rack": "k2"}}})])
    bench.settle()
    assert executors(bench, framework) == ["e"]


def test_an_executor_and_its_tasks_survive_a_restart() -> None:
    bench, framework = started()
    bench = bench.restarted()
    assert executors(bench, framework) == ["e"]
    assert bench.post({"type": "GET_STATE"}, "/api/v1").status == 200
