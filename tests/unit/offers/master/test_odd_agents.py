"""Agents that report what cannot be: nothing is lost, and no capacity is offered twice."""

from pathlib import Path

import pytest

from stretto.agent.tasks.settings import TaskAgentSettings
from tests.support.mesos import Body, MesosBench, scalar, task

HERE = "slave(1)@127.0.0.1:5051"
THERE = "slave(1)@127.0.0.2:5051"


def made() -> tuple[MesosBench, str]:
    """A bench with a task on the agent ``m-S0``, and the framework."""
    bench = MesosBench()
    bench.agent(cpus=4)
    framework = bench.subscribe(failover_timeout=100.0)
    bench.launch(framework, task("t", "m-S0"))
    return bench, framework


def running(framework: str, name: str, agent: str) -> Body:
    """A running task, as an agent reports it."""
    body = task(name, agent) | {"framework_id": {"value": framework}, "state": "TASK_RUNNING"}
    del body["command"]
    return body


def returns(bench: MesosBench, agent: str, *tasks: Body, pid: str = HERE) -> None:
    """An agent registers again, with the tasks that it runs."""
    resources = [scalar("cpus", 4), scalar("mem", 1024)]
    info = {"id": {"value": agent}, "hostname": "h", "resources": resources}
    message = {"slave": info, "frameworks": [], "tasks": list(tasks)}
    message["agent_capabilities"] = [{"type": "MULTI_ROLE"}]
    bench.master.receive(pid, "ReregisterSlaveMessage", message)
    bench.collect()


def agents(bench: MesosBench) -> dict[str, int]:
    """Number of tasks by agent."""
    return {each.id: each.task_count for each in bench.master.state.agents}


def test_an_agent_that_returns_under_another_id_replaces_the_former_one() -> None:
    bench, _ = made()
    returns(bench, "other")
    assert agents(bench) == {"other": 0}
    assert bench.statuses()[-1] == ("t", "TASK_LOST")


def test_an_agent_at_another_address_is_another_agent() -> None:
    bench, _ = made()
    returns(bench, "other", pid=THERE)
    assert agents(bench) == {"other": 0, "m-S0": 1}


def test_an_agent_that_moves_to_another_address_is_the_same_agent() -> None:
    bench, framework = made()
    returns(bench, "m-S0", running(framework, "t", "m-S0"), pid=THERE)
    returns(bench, "other")
    assert agents(bench) == {"other": 0, "m-S0": 1}


def test_an_agent_that_reports_a_task_of_another_one_is_refused() -> None:
    bench, framework = made()
    returns(bench, "liar", running(framework, "t", "m-S0"), pid=THERE)
    assert agents(bench) == {"m-S0": 1}
    assert bench.sent[-1].message["message"] == "Task 't' is of agent m-S0, not of liar"


def test_an_agent_without_an_id_does_not_return() -> None:
    bench, _ = made()
    returns(bench, "", pid=THERE)
    assert agents(bench) == {"m-S0": 1}


def test_a_lost_task_whose_id_was_launched_again_ends_on_the_agent_that_returns() -> None:
    bench, framework = made()
    returns(bench, "other", running(framework, "t", "other"), pid=THERE)
    names = [each.name for each in bench.sent if each.pid == THERE]
    assert agents(bench) == {"other": 0, "m-S0": 1}
    assert "KillTaskMessage" in names


def test_a_task_that_was_launched_once_returns_with_its_agent() -> None:
    bench, framework = made()
    returns(bench, "other", running(framework, "u", "other"), pid=THERE)
    assert agents(bench) == {"other": 1, "m-S0": 1}


@pytest.mark.parametrize("ip", ["10.0.0.7", "::ffff:10.0.0.7"])
def test_agents_of_several_machines_differ_in_their_addresses(ip: str) -> None:
    settings = TaskAgentSettings("master", 5050, Path("work"), "host")
    assert settings.pid_at(ip) == "slave(1)@10.0.0.7:5051"
