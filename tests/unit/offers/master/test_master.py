"""The master: faults of frameworks and agents, and what survives its own end."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.offers.allocator.subjects.settings import DEFAULTS
from stretto.offers.master.core.acls import AclEntity, AclEntry, Acls, EntityType, read_acls
from stretto.offers.master.master import CycleTime
from tests.support.mesos import Body, MesosBench, scalar, task


def bench_with_task() -> tuple[MesosBench, str, str]:
    bench = MesosBench()
    agent = bench.agent()
    framework = bench.subscribe(failover_timeout=60.0)
    bench.launch(framework, task("t", agent))
    return bench, framework, agent


def test_a_cycle_on_call_waits_for_the_call() -> None:
    bench = MesosBench(cycles=CycleTime.ON_CALL)
    bench.agent()
    bench.subscribe()
    assert (bench.offers(), bench.master.is_cycle_due) == ([], True)
    bench.master.cycle(most=1)
    bench.collect()
    assert len(bench.offers()) == 1


def test_a_second_accept_of_an_offer_loses_its_tasks() -> None:
    bench, framework, agent = bench_with_task()
    bench.launch(framework, task("again", agent))
    assert bench.statuses() == [("again", "TASK_LOST")]


def test_an_offer_of_another_framework_cannot_be_accepted() -> None:
    bench = MesosBench()
    agent = bench.agent()
    bench.subscribe()
    other = bench.subscribe()
    bench.launch(other, task("t", agent))
    assert bench.statuses() == [("t", "TASK_LOST")]
    assert len(bench.master.state.offers) == 1


def test_a_framework_that_disconnects_before_accept_loses_its_offers_only() -> None:
    bench, framework, _ = bench_with_task()
    stream = bench.streams[framework].stream
    assert stream is not None
    bench.master.closed(stream)
    assert len(bench.master.state.offers) == 0
    assert list(bench.master.state.frameworks.get(framework).tasks) == ["t"]  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [float("nan"), -1.0, 1e300])
def test_absurd_amounts_are_answered_with_task_error_or_refused(value: float) -> None:
    bench = MesosBench()
    agent = bench.agent()
    framework = bench.subscribe()
    bench.launch(framework, task("t", agent, cpus=value))
    assert bench.statuses() in ([("t", "TASK_ERROR")], [])
    assert bench.master.state.agents.get(agent).used == {}  # type: ignore[union-attr]


def test_many_tasks_in_one_accept_are_launched_as_far_as_they_fit() -> None:
    bench = MesosBench()
    agent = bench.agent(cpus=10, mem=1_000_000)
    framework = bench.subscribe()
    bench.launch(framework, *(task(f"t{n}", agent, cpus=0.2) for n in range(100)))
    started = [each for each in bench.sent if each.name == "RunTaskMessage"]
    assert (len(started), len(bench.statuses())) == (50, 50)


def test_an_agent_that_misses_pings_is_unreachable_and_returns_with_its_task() -> None:
    bench, framework, agent = bench_with_task()
    bench.report(framework, "t", "TASK_RUNNING")
    for _ in range(6):
        bench.advance(15.0)
    assert bench.statuses()[-1] == ("t", "TASK_LOST")
    bench.agent(id={"value": agent})
    assert bench.master.state.agents.get(agent) is not None


def test_a_kill_of_a_task_on_a_lost_agent_is_sent_when_it_returns() -> None:
    bench, framework, agent = bench_with_task()
    bench.master.agent_lost("slave(1)@127.0.0.1:5051")
    bench.call(framework, "KILL", task_id={"value": "t"})
    assert [each.name for each in bench.sent].count("KillTaskMessage") == 0
    reported = {
        "name": "t",
        "task_id": {"value": "t"},
        "framework_id": {"value": framework},
        "agent_id": {"value": agent},
        "state": "TASK_RUNNING",
    }
    message = {
        "slave": {"hostname": "a1", "id": {"value": agent}, "resources": [scalar("cpus", 4)]},
        "tasks": [reported],
    }
    bench.master.receive("slave(1)@127.0.0.1:5051", "ReregisterSlaveMessage", message)
    bench.collect()
    assert [each.name for each in bench.sent][-1] == "KillTaskMessage"


def test_an_unanswered_offer_ends_after_its_time_out() -> None:
    bench = MesosBench(offer_timeout=5.0)
    bench.agent()
    bench.subscribe()
    bench.advance(5.0)
    assert "RESCIND" in [event["type"] for event in bench.events]


def test_the_first_accept_of_contested_capacity_wins_and_the_others_are_rescinded() -> None:
    bench = MesosBench(DEFAULTS)
    first, _ = bench.subscribe(name="a"), bench.subscribe(name="b")
    agent = bench.agent()
    offered = {offer["framework_id"]["value"] for offer in bench.offers()}
    mine = next(o for o in bench.offers() if o["framework_id"]["value"] == first)
    operations = [{"type": "LAUNCH", "launch": {"task_infos": [task("t", agent, cpus=4.0)]}}]
    bench.call(first, "ACCEPT", offer_ids=[mine["id"]], operations=operations)
    assert len(offered) == 2
    assert "RESCIND" in [event["type"] for event in bench.events]


def test_a_rival_keeps_what_its_tasks_hold_when_another_accepts_first() -> None:
    bench = MesosBench(DEFAULTS)
    first, second = bench.subscribe(name="a"), bench.subscribe(name="b")
    agent = bench.agent()
    accept(bench, first, task("t", agent, cpus=3.0, mem=768))
    accept(bench, second, task("u", agent, cpus=1.0, mem=256))
    held = bench.master.state.allocator.holdings(agent)
    cpus = {key.framework: dict(each.quantities)["cpus"] for key, each in held.items()}
    assert cpus == {first: 3000, second: 1000}


def accept(bench: MesosBench, framework: str, launched: Body) -> None:
    """Launch a task on the last offer of a framework; the rest may be offered again at once."""
    mine = [o for o in bench.offers() if o["framework_id"]["value"] == framework]
    operations = [{"type": "LAUNCH", "launch": {"task_infos": [launched]}}]
    filters = {"refuse_seconds": 0}
    ids = [mine[-1]["id"]]
    bench.call(framework, "ACCEPT", offer_ids=ids, operations=operations, filters=filters)


def test_a_role_that_the_lists_deny_is_refused_with_an_error_event() -> None:
    entry = AclEntry(AclEntity(EntityType.ANY), AclEntity(values=frozenset({"web"})))
    acls = Acls(permissive=False, entries={"register_frameworks": (entry,)})
    bench = MesosBench(acls=acls)
    assert bench.subscribe(role="web")
    info = {"user": "u", "name": "f", "role": "db"}
    bench.post({"type": "SUBSCRIBE", "subscribe": {"framework_info": info}})
    assert bench.events[-1]["error"]["message"] == "Not authorized to use roles '{ db }'"
    quota = {"quota_configs": [{"role": "web"}]}
    answer = bench.post({"type": "UPDATE_QUOTA", "update_quota": quota}, "/api/v1")
    assert (answer.status, answer.body) == (403, b"403 Forbidden.")


@pytest.mark.parametrize(
    ("text", "named"),
    [("[]", "--acls"), ('{"a": []}', "a"), ('{"update_quotas": [{}]}', "update_quotas")],
)
def test_malformed_lists_are_named(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "acls.json"
    path.write_text(text)
    with pytest.raises(InputError, match=named):
        read_acls(path)


def test_everything_survives_a_killed_master(tmp_path: Path) -> None:
    bench = MesosBench(path=tmp_path / "master.db")
    agent = bench.agent()
    framework = bench.subscribe(role="web")
    bench.launch(framework, task("t", agent))
    quota = {"quota_configs": [{"role": "web", "limits": {"cpus": {"value": 3}}}]}
    bench.post({"type": "UPDATE_QUOTA", "update_quota": quota}, "/api/v1")
    bench.close()
    again = MesosBench(path=tmp_path / "master.db")
    state = again.master.state
    assert list(state.frameworks.get(framework).tasks) == ["t"]  # type: ignore[union-attr]
    assert state.quotas["web"]["limits"] == {"cpus": {"value": 3.0}}
    assert not state.agents.get(agent).connected  # type: ignore[union-attr]
    again.agent(id={"value": agent})
    assert again.subscribe(id={"value": framework}, role="web") == framework
    again.close()


def test_with_quota_nothing_is_offered_before_most_agents_are_back(tmp_path: Path) -> None:
    bench = MesosBench(path=tmp_path / "master.db")
    agents = [bench.agent() for _ in range(3)]
    quota = {"quota_configs": [{"role": "web", "guarantees": {"cpus": {"value": 1}}}]}
    bench.post({"type": "UPDATE_QUOTA", "update_quota": quota}, "/api/v1")
    bench.close()
    again = MesosBench(path=tmp_path / "master.db")
    again.subscribe(role="other")
    offered = []
    for agent in agents:
        again.agent(id={"value": agent})
        again.advance(1.0)
        offered.append(len(again.offers()))
    again.close()
    assert (offered[:2], offered[2] > 0) == ([0, 0], True)


def test_a_framework_without_a_role_of_its_own_is_removed_after_its_time_out() -> None:
    bench, framework, _ = bench_with_task()
    stream = bench.streams[framework].stream
    assert stream is not None
    bench.master.closed(stream)
    bench.advance(61.0)
    assert bench.master.state.frameworks.is_completed(framework)
    assert [each.name for each in bench.sent][-1] == "ShutdownFrameworkMessage"


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("RESERVE_RESOURCES", {}, 400),
        (
            "RESERVE_RESOURCES",
            {
                "resources": [
                    scalar("cpus", 1e308) | {"reservations": [{"type": "DYNAMIC", "role": "web"}]}
                ]
            },
            409,
        ),
        ("SET_QUOTA", {"guarantee": [{"name": "cpus", "type": "SCALAR"}]}, 400),
    ],
)
def test_an_odd_call_of_an_operator_has_an_answer(kind: str, body: Body, code: int) -> None:
    bench = MesosBench()
    agent = bench.agent()
    moved = {"agent_id": {"value": agent}} | body
    if kind == "SET_QUOTA":
        moved = {"quota_request": {"role": "web"} | body}
    assert bench.post({"type": kind, kind.lower(): moved}, "/api/v1").status == code
