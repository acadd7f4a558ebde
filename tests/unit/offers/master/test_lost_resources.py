"""An agent registers again with less than it had: nothing that it has lost is offered."""

from typing import Any

from tests.support.mesos import Body, MesosBench, scalar, task

CAPABILITIES = ("GPU_RESOURCES", "MULTI_ROLE", "RESERVATION_REFINEMENT")
WITH_GPUS = {"capabilities": [{"type": each} for each in CAPABILITIES], "roles": ["ml"]}
RESERVED = {"reservations": [{"type": "DYNAMIC", "role": "ml", "principal": "p"}]}


def resources(gpus: float) -> list[Body]:
    return [scalar("cpus", 8), scalar("mem", 1024), scalar("gpus", gpus)]


def bench_with(gpus: float, **info: Any) -> tuple[MesosBench, str, str]:
    """A master with an agent and a framework, to which the agent is offered."""
    bench = MesosBench()
    agent = bench.agent(resources=resources(gpus))
    return bench, agent, bench.subscribe(**WITH_GPUS, **info)


def reregister(bench: MesosBench, agent_id: str, gpus: float) -> None:
    """The agent registers again with its tasks."""
    agent = next(iter(bench.master.state.agents))
    tasks = [each.message() for tasks in agent.tasks.values() for each in tasks.values()]
    info = {"hostname": "a1", "id": {"value": agent_id}, "resources": resources(gpus)}
    bench.master.receive(agent.pid, "ReregisterSlaveMessage", {"slave": info, "tasks": tasks})
    bench.collect()


def on_gpus(agent_id: str, gpus: float) -> Body:
    return task("t", agent_id) | {"resources": [scalar("cpus", 1), scalar("gpus", gpus)]}


def last_gpus(bench: MesosBench) -> float:
    """GPUs of the last offer."""
    amounts = {e["name"]: e["scalar"]["value"] for e in bench.offers()[-1]["resources"]}
    return float(amounts.get("gpus", 0))


def test_an_offer_of_lost_gpus_is_rescinded_and_the_rest_is_offered() -> None:
    bench, agent, _ = bench_with(gpus=4)
    reregister(bench, agent, gpus=1)
    bench.advance(5)
    assert [e["type"] for e in bench.events].count("RESCIND") == 1
    assert (len(bench.offers()), last_gpus(bench)) == (2, 1)


def test_a_task_keeps_gpus_that_its_agent_has_lost_and_none_is_offered() -> None:
    bench, agent, framework = bench_with(gpus=4)
    bench.launch(framework, on_gpus(agent, 3))
    reregister(bench, agent, gpus=2)
    bench.advance(10)
    assert last_gpus(bench) == 0
    assert ("t", "TASK_LOST") not in bench.statuses()


def test_after_the_end_of_the_task_the_remaining_gpus_are_offered_once() -> None:
    bench, agent, framework = bench_with(gpus=4)
    bench.launch(framework, on_gpus(agent, 3))
    reregister(bench, agent, gpus=2)
    bench.report(framework, "t", "TASK_FINISHED")
    bench.advance(10)
    held = bench.master.state.allocator.holdings(agent)
    assert [dict(each.quantities)["gpus"] for each in held.values()] == [2_000]


def test_accepting_an_offer_of_lost_gpus_loses_the_task() -> None:
    bench, agent, framework = bench_with(gpus=4)
    first = bench.offers()[-1]["id"]
    reregister(bench, agent, gpus=1)
    launch = {"type": "LAUNCH", "launch": {"task_infos": [on_gpus(agent, 4)]}}
    bench.call(framework, "ACCEPT", offer_ids=[first], operations=[launch])
    assert bench.statuses()[-1] == ("t", "TASK_LOST")


def reserved_after(gpus: float) -> dict[str, int]:
    """Thousandths of what is reserved of an agent with 2 reserved GPUs that registers again."""
    bench, agent, framework = bench_with(gpus=4, principal="p")
    wanted = scalar("gpus", 2) | RESERVED
    operation = {"type": "RESERVE", "reserve": {"resources": [wanted]}}
    bench.call(framework, "ACCEPT", offer_ids=[bench.offers()[-1]["id"]], operations=[operation])
    reregister(bench, agent, gpus=gpus)
    return next(iter(bench.master.state.agents)).checkpointed.quantities()


def test_a_reservation_lasts_as_long_as_the_agent_has_what_it_reserves() -> None:
    assert reserved_after(gpus=3) == {"gpus": 2_000}
    assert reserved_after(gpus=1) == {}
