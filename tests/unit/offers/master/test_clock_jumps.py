"""The wall clock of a master jumps: nothing that lasts ends early, and nothing lasts longer."""

import pytest

from tests.support.mesos import MesosBench, task


@pytest.mark.parametrize("jump", [30 * 86_400.0, -30 * 86_400.0])
def test_a_jump_of_the_clock_ends_no_task_agent_or_framework(jump: float) -> None:
    bench = MesosBench()
    framework, agent = bench.subscribe(failover_timeout=100.0), bench.agent()
    bench.launch(framework, task("t", agent))
    bench.report(framework, "t", "TASK_RUNNING")
    bench.clock.jump_wall(jump)
    bench.advance(1.0)
    assert bench.statuses() == [("t", "TASK_RUNNING")]
    assert "FAILURE" not in [each["type"] for each in bench.events]
    assert [each.connected for each in bench.master.state.agents] == [True]


@pytest.mark.parametrize("jump", [30 * 86_400.0, -30 * 86_400.0])
def test_a_filter_lasts_as_long_as_without_a_jump_of_the_clock(jump: float) -> None:
    bench = MesosBench()
    framework = bench.subscribe()
    bench.agent()
    (offer,) = bench.offers()
    bench.call(framework, "DECLINE", offer_ids=[offer["id"]], filters={"refuse_seconds": 10.0})
    bench.clock.jump_wall(jump)
    bench.advance(5.0)
    assert len(bench.offers()) == 1
    bench.advance(10.0)
    assert len(bench.offers()) == 2
