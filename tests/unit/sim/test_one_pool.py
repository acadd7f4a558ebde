"""A one-pool day: services follow their load curve, evicted work is recreated and counted."""

import msgspec
import pytest

from stretto.base.errors import InputError
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.one_pool import load_arrivals
from stretto.plane.config import PlaneConfig
from stretto.sim.plots.figures import draw_plots
from stretto_lab.studies.one_pool.day import run_one_pool_day
from stretto_lab.studies.one_pool.ledger import DiurnalService, OnePoolDayResult, OnePoolJob
from stretto_lab.studies.one_pool.report import (
    WARM_UP,
    WORKER,
    OnePoolStudy,
    jobs_of,
    machines,
    one_pool_plots,
    peak_cores,
    pool_config,
    run_one_pool,
    services_of,
    split_machines,
)

HIGH, LOW = FleetPod("web", 1000, 1024, priority=1000), FleetPod("task", 1000, 1024, priority=10)
CONFIG = PlaneConfig(
    profile=load_profile("packing"),
    tier="numpy",
    dispatcher=DispatcherConfig(
        queues=(QueueConfig("online"), QueueConfig("batch")), schedule_timeout=1e9, safety_net=1e9
    ),
)


def pool(
    *jobs: OnePoolJob, load_curve: tuple[tuple[int, int], ...] = (), until: int = 40
) -> OnePoolDayResult:
    """One machine of four cores."""
    services = [DiurnalService("web", HIGH, "online", load_curve)] if load_curve else []
    return run_one_pool_day([FleetNode("n", 4000, 65536)], (services, jobs), CONFIG, until)


def test_jobs_run_their_time_and_end() -> None:
    run = pool(OnePoolJob(0, 10, LOW, "batch"), OnePoolJob(3, 10, LOW, "batch"))
    batch = run.ledgers["batch"]
    assert (batch.started, batch.waiting, batch.evicted) == (2, 0, 0)
    assert batch.done_core_h == pytest.approx(2 * 10 * 30 / 3600)
    assert run.cores["batch"] == (1.0, 1.0, 0.0, 0.0)


def test_a_job_that_does_not_fit_waits_for_jobs_to_end() -> None:
    run = pool(*[OnePoolJob(0, 10, LOW, "batch") for _ in range(6)])
    assert dict(run.ledgers["batch"].waits) == {0: 4, 10: 2}


def test_replicas_follow_the_tide_both_ways() -> None:
    run = pool(load_curve=((0, 1), (10, 4), (20, 2)))
    assert run.cores["online"] == (1.0, 4.0, 2.0, 2.0)
    assert run.ledgers["online"].started == 4


def test_a_rising_tide_evicts_batch_within_its_grace_and_batch_comes_back() -> None:
    jobs = [OnePoolJob(0, 15, LOW, "batch") for _ in range(4)]
    run = pool(*jobs, load_curve=((0, 0), (10, 2), (20, 0)))
    online, batch = run.ledgers["online"], run.ledgers["batch"]
    assert max(online.waits) == 1
    assert (online.evicted, batch.evicted) == (0, 2)
    assert batch.lost_core_h == pytest.approx(2 * 10 * 30 / 3600)
    assert batch.done_core_h == pytest.approx(4 * 15 * 30 / 3600)


def test_a_gang_that_loses_a_pod_runs_its_whole_time_again() -> None:
    gang = OnePoolJob(0, 20, LOW, "batch", pods=4)
    run = pool(gang, load_curve=((0, 0), (10, 1), (12, 0)), until=60)
    batch = run.ledgers["batch"]
    assert batch.evicted >= 1
    assert batch.lost_core_h == pytest.approx(4 * 10 * 30 / 3600)
    assert batch.done_core_h == pytest.approx(4 * 20 * 30 / 3600)


def test_only_what_comes_after_the_warm_up_counts() -> None:
    nodes, jobs = [FleetNode("n", 4000, 65536)], [OnePoolJob(t, 5, LOW, "batch") for t in (0, 20)]
    run = run_one_pool_day(nodes, ((), jobs), CONFIG, 40, counted_from=10)
    assert (run.ledgers["batch"].came, run.ledgers["batch"].started) == (1, 1)


STUDY = OnePoolStudy(nodes=20, hours=0.5)


def test_two_pools_have_together_the_machines_of_one() -> None:
    nodes = machines(STUDY)
    mine, others = split_machines(STUDY, nodes)
    assert sorted(n.name for n in [*mine, *others]) == sorted(n.name for n in nodes)
    assert sum(n.cpu_milli for n in mine) / 1000 >= 1.1 * peak_cores(STUDY)
    assert not any(n.gpus for n in mine)


def test_the_tide_s_peak_is_in_the_evening_and_its_low_a_third_of_it() -> None:
    services = services_of(OnePoolStudy(nodes=2000))
    wanted = [sum(s.load_curve[i][1] for s in services) for i in range(len(services[0].load_curve))]
    day = wanted[WARM_UP // 20 :]
    assert day.index(max(day)) * 600 / 3600 == pytest.approx(20, abs=0.5)
    assert min(day) / max(day) == pytest.approx(0.35, abs=0.03)


def test_the_arrivals_are_the_traces() -> None:
    found = load_arrivals()
    assert sum(sum(flat[2::3]) for flat in found.vms.bins) == 70_239
    assert "CC-BY-4.0" in found.licence
    assert all(len(days) == 8 for days in found.jobs.values())


def test_a_smaller_pool_gets_a_part_of_the_work_and_no_gang_larger_than_itself() -> None:
    whole, part = (jobs_of(OnePoolStudy(nodes=n), load_arrivals()) for n in (200, 20))
    assert len(part) == pytest.approx(len(whole) / 10, rel=0.1)
    assert max(job.pods for job in part if job.shape.gpus) <= 8


def test_a_tenant_gets_its_guaranteed_gpus_although_batch_uses_all_other_cores() -> None:
    nodes, task = machines(STUDY), FleetPod("task", 8000, 16 * 1024, priority=10)
    cores = sum(node.cpu_milli for node in nodes) // 8000
    jobs = [OnePoolJob(0, 1000, WORKER, "research") for _ in range(8)]
    jobs += [OnePoolJob(1, 1000, task, "batch-a") for _ in range(cores)]
    jobs += [OnePoolJob(5, 1000, WORKER, "product", pods=4)]
    config = msgspec.structs.replace(pool_config(STUDY, nodes), tier="numpy")
    run = run_one_pool_day(nodes, ((), jobs), config, 31)
    assert {queue: used[-1] for queue, used in run.gpus.items() if used[-1]} == {
        "research": 4,
        "product": 4,
    }


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_one_pool_serves_online_at_once_and_does_more_than_two() -> None:
    result = run_one_pool(STUDY)
    one, two = result.pools
    lines = {(p.name, q.queue): q for p in result.pools for q in p.queues}
    assert lines["one pool", "online"].max_wait_s <= 60
    assert lines["one pool", "online"].evicted == 0
    assert one.mean_cpu_pct > two.mean_cpu_pct
    assert len(draw_plots(one_pool_plots(result))) == 6  # PNG and SVG


def test_a_study_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="nodes"):
        OnePoolStudy(nodes=1)
    with pytest.raises(InputError, match="hours"):
        OnePoolStudy(hours=0)
