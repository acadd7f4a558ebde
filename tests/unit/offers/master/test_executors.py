"""Executors at the master: what they hold is free as soon as their agent has them no more."""

from typing import Any

import pytest

from stretto.offers.master.resources.items import ResourceList
from tests.support.mesos import MesosBench, scalar, task


def executor() -> dict[str, Any]:
    resources = [scalar("cpus", 1.0), scalar("mem", 32)]
    command = {"value": "./executor"}
    return {"executor_id": {"value": "e"}, "command": command, "resources": resources}


@pytest.mark.parametrize(("reported", "left"), [(True, 1.0), (False, 0.0)])
def test_an_executor_that_ended_while_its_agent_was_away_is_removed(
    reported: bool, left: float
) -> None:
    bench = MesosBench()
    framework, agent_id = bench.subscribe(), bench.agent()
    made = task("t", agent_id) | {"executor": executor()}
    del made["command"]
    bench.launch(framework, made)
    (agent,) = bench.master.state.agents
    infos = list(agent.executors[framework].values()) if reported else []
    message = {"slave": {"hostname": "a1", "id": {"value": agent_id}}, "executor_infos": infos}
    bench.master.receive(agent.pid, "ReregisterSlaveMessage", message)
    used = agent.used.get(framework, ResourceList()).scalars()
    assert used.get("cpus", 0) / 1000 == left
