"""``GET /offers``: the obstacle between a framework and an agent."""

import msgspec
import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.api.standing import offers
from tests.support.mesos import MesosBench, task

ROLE = {
    "roles": ["a/b"],
    "capabilities": [{"type": each} for each in ("MULTI_ROLE", "RESERVATION_REFINEMENT")],
}
NESTED = msgspec.structs.replace(MESOS, nested_quota=True)
NO_FILTER = {"refuse_seconds": 0}


def obstacle(bench: MesosBench, framework_id: str) -> tuple[str, str]:
    (found,) = offers(bench.master.state, {"framework": framework_id})["obstacles"]
    return found["reason"], found["text"]


def test_an_outstanding_offer_has_an_age_and_no_obstacle() -> None:
    bench = MesosBench()
    agent = bench.agent()
    framework = bench.subscribe()
    bench.advance(5)
    found = offers(bench.master.state, {"framework": framework})
    assert found["obstacles"] == []
    (offer,) = found["offers"]
    assert (offer["agent_id"], offer["age"]) == (agent, 5.0)


def test_a_filter_shows_its_remaining_time() -> None:
    bench = MesosBench()
    bench.agent()
    framework = bench.subscribe()
    ids = [bench.offers()[-1]["id"]]
    bench.call(framework, "DECLINE", offer_ids=ids, filters={"refuse_seconds": 60})
    bench.advance(10)
    reason, text = obstacle(bench, framework)
    assert reason == "filter"
    assert "ends in 50.0 s" in text


def test_a_suppressed_role_is_named_before_the_filter() -> None:
    bench = MesosBench()
    bench.agent()
    framework = bench.subscribe()
    bench.call(framework, "DECLINE", offer_ids=[bench.offers()[-1]["id"]])
    bench.call(framework, "SUPPRESS")
    assert obstacle(bench, framework)[0] == "suppressed"


def test_a_full_agent_has_no_capacity() -> None:
    bench = MesosBench()
    agent = bench.agent(cpus=1, mem=32)
    framework = bench.subscribe()
    bench.launch(framework, task("t", agent))
    assert obstacle(bench, framework)[0] == "no capacity"


def test_without_another_obstacle_share_and_position_of_the_role_are_shown() -> None:
    bench = MesosBench()
    framework = bench.subscribe()
    bench.agent(cpus=1)
    bench.call(framework, "DECLINE", offer_ids=[bench.offers()[-1]["id"]], filters=NO_FILTER)
    reason, text = obstacle(bench, framework)
    assert reason == "next cycle"
    assert "the share of role * is 0.0%, position 1 of 1 roles" in text


@pytest.mark.parametrize(("url", "code"), [("http://127.0.0.1:9", 8), ("master", 2)])
def test_an_unreachable_master_ends_the_verb(url: str, code: int) -> None:
    result = CliRunner().invoke(cli, ["offers", "--master", url])
    assert result.exit_code == code, result.output


def quota(bench: MesosBench, kind: str, role: str, mem: float) -> None:
    """Set a limit or a guarantee of one CPU and some memory."""
    config = {"role": role, kind: {"cpus": {"value": 1.0}, "mem": {"value": mem}}}
    body = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [config]}}
    assert bench.post(body, "/api/v1").status == 200


def test_the_limit_of_a_nested_role_is_named() -> None:
    bench = MesosBench(NESTED)
    agent = bench.agent(cpus=4)
    framework = bench.subscribe(**ROLE)
    quota(bench, "limits", "a/b", 32)
    bench.advance(2)
    bench.launch(framework, task("t", agent))
    bench.advance(10)
    reason, text = obstacle(bench, framework)
    assert (reason, text) == ("limit", "role a/b has reached its limit of 1 cpus")


def test_the_guarantee_of_a_sibling_may_hold_capacity() -> None:
    bench = MesosBench(NESTED)
    bench.agent(cpus=1)
    quota(bench, "guarantees", "a/c", 1024)
    framework = bench.subscribe(**ROLE)
    reason, text = obstacle(bench, framework)
    assert (reason, text) == ("headroom", "1 cpus may be held for the guarantee of role a/c")
