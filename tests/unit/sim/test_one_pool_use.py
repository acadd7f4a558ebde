"""The one-pool day with real use: use is measured, throttled and reported; pools hold batch."""

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.measured_use import UseTrace
from stretto.sim.plots.figures import draw_plots
from stretto.stores.embedded.memory import MemoryStore
from stretto_lab.studies.one_pool.ledger import DiurnalService
from stretto_lab.studies.one_pool.real_use import UseStudyResult, run_real_use, use_plot
from stretto_lab.studies.one_pool.report import OnePoolStudy
from stretto_lab.studies.one_pool.use import DayUse
from stretto_lab.studies.one_pool.variants import VARIANTS

HALF = UseTrace("made", "none", {"a": (500,) * 12})
WEB, TASK = FleetPod("web", 3000, 1024, priority=1000), FleetPod("task", 2000, 1024, priority=10)
RECLAIMED = VARIANTS[4]
STORE = MemoryStore(ManualClock(), Rng(0))


def day(*services: DiurnalService) -> DayUse:
    """One machine of four cores."""
    nodes = [FleetNode("n", 4000, 65536)]
    return DayUse(nodes, services, list(HALF.cpu.values()), Rng(0).numpy())


@pytest.fixture(scope="module")
def result() -> UseStudyResult:
    return run_real_use(OnePoolStudy(20, 0.1), HALF, variants=(RECLAIMED,))


def test_a_job_uses_the_share_of_its_request_that_the_machine_used() -> None:
    use = day()
    use.started("t", ("batch-a", TASK, -1), "n", 0)
    use.sample(10, 300.0, STORE)
    use.ended("t")
    use.sample(20, 600.0, STORE)
    assert [each.used for each in use.samples] == [{"batch-a": 1.0}, {}]


def test_replicas_share_the_load_of_their_service() -> None:
    use = day(DiurnalService("web", WEB, "online", ((0, 1), (10, 2))))
    use.started("w", ("online", WEB, 0), "n", 0)
    use.sample(0, 0.0, STORE)
    use.sample(10, 300.0, STORE)
    assert [each.used["online"] for each in use.samples] == [pytest.approx(1.8), 3.0]


def test_a_node_without_cpu_throttles_the_lowest_priority_first() -> None:
    use = day(DiurnalService("web", WEB, "online", ((0, 2),)))
    use.started("w", ("online", WEB, 0), "n", 0)
    for number in range(3):
        use.started(f"t{number}", ("batch-a", TASK, -1), "n", 0)
    use.sample(0, 0.0, STORE)
    assert use.samples[0].throttled == {"batch-a": 2.0}
    assert use.samples[0].used == {"online": 3.0, "batch-a": 1.0}


def test_each_configuration_is_measured(result: UseStudyResult) -> None:
    assert [each.name for each in result.points] == [RECLAIMED.name]
    assert all(0 < each.used_pct <= each.peak_used_pct <= 100 for each in result.points)
    assert all(len(each) == len(result.hours) for each in result.used_pct.values())


def test_batch_runs_in_the_pools_that_agents_report(result: UseStudyResult) -> None:
    (point,) = result.points
    assert point.jobs_used_core_h > 0
    assert point.evicted == 0  # services take from the nodes, not from the pools


def test_the_figure_shows_elastic_services(result: UseStudyResult) -> None:
    assert set(draw_plots([use_plot(result)])) == {"one-pool-use.png", "one-pool-use.svg"}
