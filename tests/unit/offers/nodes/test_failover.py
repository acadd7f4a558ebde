"""A master that was killed: another one continues over the same store."""

import pytest

from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD
from stretto.base.errors import ConflictError
from stretto.offers.master.storage.contract import MasterJournal
from stretto.offers.master.storage.objects import MasterObjects
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_pod
from tests.support.offered_nodes import SCHEDULER, PoolBench, node


def running() -> tuple[PoolBench, str, str]:
    """A bench with a running task, its framework and the name of its pod."""
    bench = PoolBench(node("n1"))
    framework = bench.subscribe(failover_timeout=3600.0)
    bench.settle()
    bench.start(framework, "t")
    name = bench.pods()[0]["metadata"]["name"]
    bench.set_phase(name, "Running", running={})
    bench.acknowledge(framework)
    return bench, framework, name


def vanish(bench: PoolBench, name: str) -> None:
    """Another client removes a pod together with its finalizer."""
    bench.store.patch(POD, [Patch("default", name, {"metadata": {"finalizers": None}})])
    bench.store.delete(POD, [Deletion("default", name)])


def test_a_task_is_neither_lost_nor_started_twice() -> None:
    bench, framework, name = running()
    bench = bench.restarted()
    assert [pod["metadata"]["name"] for pod in bench.pods()] == [name]
    bench.subscribe(id={"value": framework}, failover_timeout=3600.0)
    bench.settle()
    bench.set_phase(name, "Succeeded", terminated={"exitCode": 0})
    bench.acknowledge(framework)
    assert bench.statuses()[-1] == ("t", "TASK_FINISHED")
    assert bench.pods() == []


def test_the_capacity_of_tasks_stays_claimed() -> None:
    bench, _, _ = running()
    bench = bench.restarted()
    bench.create(POD, make_pod("p", cpu="4", scheduler=SCHEDULER))
    bench.settle()
    assert [pod["spec"].get("nodeName") for pod in bench.pods()] == [None, "n1"]


def test_a_task_that_ended_meanwhile_is_reported() -> None:
    bench, framework, name = running()
    bench.stop()
    ended = [{"name": "task-0", "state": {"terminated": {"exitCode": 1}}}]
    status = {"phase": "Failed", "containerStatuses": ended}
    bench.store.patch_status(POD, [Patch("default", name, {"status": status})])
    bench = bench.restarted()
    bench.subscribe(id={"value": framework}, failover_timeout=3600.0)
    bench.settle()
    bench.acknowledge(framework)
    assert bench.statuses()[-1] == ("t", "TASK_FAILED")


def test_the_end_of_a_task_whose_pod_was_deleted_meanwhile_is_reported() -> None:
    bench, framework, name = running()
    bench.stop()
    ended = [{"name": "task-0", "state": {"terminated": {"exitCode": 0}}}]
    status = {"phase": "Succeeded", "containerStatuses": ended}
    bench.store.patch_status(POD, [Patch("default", name, {"status": status})])
    bench.store.delete(POD, [Deletion("default", name)])
    bench = bench.restarted()
    bench.subscribe(id={"value": framework}, failover_timeout=3600.0)
    bench.settle()
    assert bench.pods() == []
    assert bench.statuses()[-1] == ("t", "TASK_FINISHED")


def test_a_task_whose_pod_is_missing_is_gone() -> None:
    bench, framework, name = running()
    bench.stop()
    vanish(bench, name)
    bench = bench.restarted()
    again = bench.subscribe(id={"value": framework}, failover_timeout=3600.0)
    bench.call(again, "RECONCILE", tasks=[{"task_id": {"value": "t"}}])
    assert bench.statuses()[-1] == ("t", "TASK_LOST")


def test_tasks_of_a_node_that_was_deleted_meanwhile_are_lost() -> None:
    bench, framework, _ = running()
    bench.stop()
    bench.store.delete(NODE, [Deletion("", "n1")])
    bench = bench.restarted()
    again = bench.subscribe(id={"value": framework}, failover_timeout=3600.0)
    bench.call(again, "RECONCILE", tasks=[{"task_id": {"value": "t"}}])
    assert bench.statuses()[-1] == ("t", "TASK_LOST")


def test_tasks_on_a_node_that_does_not_answer_are_read_from_their_pods() -> None:
    bench, framework, name = running()
    bench.stop()
    vanish(bench, name)
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    bench.store.patch_status(NODE, [Patch("", "n1", unknown)])
    bench = bench.restarted()
    agents = list(bench.master.state.agents)
    assert [(each.connected, each.task(framework, "t")) for each in agents] == [(False, None)]


def test_frameworks_keep_their_ids_and_their_time_out() -> None:
    bench, framework, _ = running()
    bench = bench.restarted()
    found = bench.master.state.frameworks.get(framework)
    assert found is not None
    assert found.failover_timeout == 3600.0
    other = bench.subscribe()
    assert other != framework


def test_only_agents_with_tasks_are_stored() -> None:
    bench, _, _ = running()
    kinds = [
        record.name.rsplit("-", 2)[1]
        for record in bench.store.list(CONFIG_MAP).records
        if record.name != "master-head"
    ]
    assert sorted(kinds) == ["agent", "framework", "task"]


def test_a_master_that_was_replaced_conflicts() -> None:
    bench, framework, _ = running()
    stale = MasterObjects(bench.store, "default", "master")
    bench.call(framework, "SUPPRESS")
    bench.master.state.changed(*bench.master.state.frameworks)
    with pytest.raises(ConflictError):
        MasterJournal(stale, bench.master.state).save()
