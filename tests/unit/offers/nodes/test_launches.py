"""Ids of tasks that are used again while the pods of former tasks still exist."""

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.stores.store import Patch
from stretto.testing import make_pod
from tests.support.losing_store import LosingStore
from tests.support.mesos import Body, task
from tests.support.offered_nodes import SCHEDULER, PoolBench, node


def started() -> tuple[PoolBench, str, str]:
    """A bench with one running task, its framework, and the name of a pod that stays."""
    bench = PoolBench(node("n1"))
    framework = bench.subscribe(failover_timeout=3600.0)
    bench.settle()
    bench.start(framework, "t")
    name = bench.pods()[0]["metadata"]["name"]
    kept = {"metadata": {"finalizers": ["stretto.dev/task", "example.com/kept"]}}
    bench.store.patch(POD, [Patch("default", name, kept)])
    bench.set_phase(name, "Running", running={})
    bench.acknowledge(framework)
    return bench, framework, name


def used_again() -> tuple[PoolBench, str, str]:
    """The same with another launch of the id after the end of the task, before the next step."""
    bench, framework, name = started()
    bench.set_phase(name, "Succeeded", terminated={"exitCode": 0})
    (status,) = [e["update"]["status"] for e in bench.events if "TASK_FINISHED" in str(e)]
    bench.wait(10)
    wanted = ("agent_id", "task_id", "uuid")
    bench.call(framework, "ACKNOWLEDGE", **{key: status[key] for key in wanted})
    bench.launch(framework, task("t", bench.offer()["agent_id"]["value"]))
    return bench, framework, name


def lost() -> tuple[PoolBench, str, str]:
    """The same after the node was silent for so long that its task is lost, and has returned."""
    bench, framework, name = started()
    ready(bench, "Unknown")
    for _ in range(7):
        bench.wait(15)
    bench.create(NODE, node("n2"))
    bench.settle()
    bench.start(framework, "t")
    return bench, framework, name


def ready(bench: PoolBench, status: str) -> None:
    conditions = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
    bench.store.patch_status(NODE, [Patch("", "n1", conditions)])
    bench.settle()


def of(bench: PoolBench, former: str) -> str:
    """The name of the pod of the new task."""
    (name,) = {pod["metadata"]["name"] for pod in bench.pods()} - {former}
    return str(name)


def returned(bench: PoolBench, framework: str) -> PoolBench:
    """Another master over the same store, with the framework."""
    again = bench.restarted()
    again.subscribe(id={"value": framework}, failover_timeout=3600.0)
    again.settle()
    return again


def test_a_task_whose_id_is_used_again_has_a_pod_of_its_own() -> None:
    bench, framework, former = used_again()
    bench.settle()
    bench.set_phase(of(bench, former), "Running", running={})
    bench.acknowledge(framework)
    assert bench.statuses()[-2:] == [("t", "TASK_STARTING"), ("t", "TASK_RUNNING")]


def test_a_task_whose_id_is_used_again_holds_its_resources_at_once() -> None:
    bench, _, _ = used_again()
    (agent,) = bench.master.state.agents
    assert agent.total.scalars()["cpus"] == 4000


def test_a_former_pod_has_no_effect_on_the_task_with_its_id() -> None:
    bench, _, former = used_again()
    bench.settle()
    sent = len(bench.statuses())
    bench.set_phase(former, "Failed", terminated={"exitCode": 1})
    assert (len(bench.pods()), bench.statuses()[sent:]) == (2, [])


def test_the_end_of_a_former_pod_is_not_that_of_a_launch_before_the_restart() -> None:
    bench, framework, former = used_again()
    bench = returned(bench, framework)
    bench.store.patch(POD, [Patch("default", former, {"metadata": {"finalizers": None}})])
    bench.settle()
    bench.call(framework, "RECONCILE", tasks=[{"task_id": {"value": "t"}}])
    assert (bench.pods(), {state for _, state in bench.statuses()}) == ([], {"TASK_LOST"})


def test_a_restarted_master_takes_the_state_of_a_task_from_its_own_pod() -> None:
    bench, framework, former = used_again()
    bench.settle()
    bench = returned(bench, framework)
    bench.set_phase(former, "Failed", terminated={"exitCode": 1})
    bench.set_phase(of(bench, former), "Running", running={})
    bench.acknowledge(framework)
    assert [state for _, state in bench.statuses()] == ["TASK_STARTING", "TASK_RUNNING"]


def test_a_kill_ends_the_task_and_not_only_the_former_pod() -> None:
    bench, framework, former = used_again()
    bench.settle()
    bench.call(framework, "KILL", task_id={"value": "t"})
    bench.settle()
    bench.acknowledge(framework)
    assert [pod["metadata"]["name"] for pod in bench.pods()] == [former]
    assert bench.statuses()[-1] == ("t", "TASK_KILLED")


def test_a_lost_task_that_was_launched_elsewhere_does_not_return_with_its_node() -> None:
    bench, _, former = lost()
    ready(bench, "True")
    assert "deletionTimestamp" in next(
        pod["metadata"] for pod in bench.pods() if pod["metadata"]["name"] == former
    )
    assert {e.hostname: e.task_count for e in bench.master.state.agents} == {"n1": 0, "n2": 1}


def test_a_task_that_was_launched_elsewhere_is_not_killed_with_the_node_of_the_former_one() -> None:
    bench, framework, former = lost()
    ready(bench, "True")
    (agent,) = [each for each in bench.master.state.agents if each.hostname == "n1"]
    bench.post({"type": "DRAIN_AGENT", "drain_agent": {"agent_id": {"value": agent.id}}}, "/api/v1")
    bench.set_phase(of(bench, former), "Succeeded", terminated={"exitCode": 0})
    bench.acknowledge(framework)
    assert bench.statuses()[-1] == ("t", "TASK_FINISHED")


def test_a_former_pod_is_charged_beside_the_task_with_its_id() -> None:
    bench, framework, _ = started()
    ready(bench, "Unknown")
    for _ in range(7):
        bench.wait(15)
    ready(bench, "True")
    bench.launch(framework, task("u", bench.offer()["agent_id"]["value"], cpus=2))
    bench.create(POD, make_pod("p", cpu="2", scheduler=SCHEDULER))
    bench.settle()
    assert "nodeName" not in pod_named(bench, "p")["spec"]


def pod_named(bench: PoolBench, name: str) -> Body:
    return next(pod for pod in bench.pods() if pod["metadata"]["name"] == name)


def test_updates_of_a_former_task_are_not_those_of_a_new_one_with_its_id() -> None:
    bench, framework, former = started()
    bench.store.patch(POD, [Patch("default", former, {"metadata": {"finalizers": None}})])
    bench.delete(POD, former, "default")
    ready(bench, "Unknown")
    for _ in range(7):
        bench.wait(15)
    ready(bench, "True")
    bench.start(framework, "t")
    assert bench.statuses()[-1] == ("t", "TASK_STARTING")


def test_a_task_does_not_wait_for_the_unseen_pod_of_its_id_on_a_former_node() -> None:
    store = LosingStore(ManualClock(1000.0))
    bench = PoolBench(node("n1"), store=store, clock=store.clock)
    framework = bench.subscribe()
    bench.settle()
    bench.start(framework, "t")
    former = bench.pods()[0]["metadata"]["name"]
    bench.delete(NODE, "n1")
    bench.create(NODE, node("n1"))
    bench.settle()
    bench.start(framework, "t")
    bench.wait(6)
    bench.set_phase(former, "Failed")
    assert (store.created, bench.statuses()[-1]) == (2, ("t", "TASK_STARTING"))
