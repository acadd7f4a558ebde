"""The bench against kube-scheduler without its programs: shapes, what is seen, replays, figures."""

from collections import Counter

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.errors import InputError, UnknownNameError
from stretto.cli.main import cli
from stretto.stores.store import Bind, Eviction, Patch
from stretto_lab.bench.kube import bench
from stretto_lab.bench.kube.options import WORKLOADS, KubeBenchOptions
from stretto_lab.bench.kube.plot import WorkloadRates, rates_plot
from stretto_lab.bench.kube.replay import WritePlan, replay, with_uids, writes_of
from stretto_lab.bench.kube.rounds import BenchRound, DrainPass, WriteCeiling
from stretto_lab.bench.kube.shapes import (
    MEASURED,
    WorkloadCounts,
    pod_name,
    shape_named,
    workload_counts,
)
from stretto_lab.bench.kube.sides import ProcessUsage
from stretto_lab.bench.kube.warm import NODES, WarmUp
from stretto_lab.bench.kube.watch import PodCurve, curve_of


def rehearsed(name: str) -> WarmUp:
    """A workload that a plane has placed in memory."""
    rehearsal = WarmUp(shape_named(name))
    rehearsal.place(tier="numpy")
    return rehearsal


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_pod_of_a_workload_finds_a_node(name: str) -> None:
    trial = rehearsed(name)
    names = [pod_name(n) for n in range(trial.counts.pods + trial.counts.steady)]
    assert [each for each in names if each not in trial.seen.bound] == []


def test_counts_scale_with_the_nodes_and_gangs_stay_whole() -> None:
    assert workload_counts(shape_named("basic"), 5000) == WorkloadCounts(1000, 10_000, 1000)
    assert workload_counts(shape_named("preemption"), 500) == WorkloadCounts(2000, 100, 10)
    assert workload_counts(shape_named("gang"), 500) == WorkloadCounts(0, 900, 90)


def test_preemptors_evict_pods_and_the_plan_names_them() -> None:
    trial = rehearsed("preemption")
    plan = writes_of(trial.seen)
    pods = trial.counts.pods + trial.counts.steady
    assert len(plan.binds) == pods
    assert len(plan.evictions) >= 3 * pods
    left_of = Counter(node for _, node in trial.seen.evicted)
    assert {bind.node for bind in plan.binds} <= left_of.keys()


def test_a_replay_sends_the_writes_that_were_seen_to_the_same_pods_elsewhere() -> None:
    first, second = rehearsed("basic"), WarmUp(shape_named("basic"))
    second.seen.look(0)
    plan = with_uids(writes_of(first.seen), second.seen.uid_of)
    done = replay(second.store, plan)
    second.seen.look(0)
    assert (done.bound, done.failed) == (len(first.seen.bound), 0)
    assert second.seen.node_of == first.seen.node_of


def test_gang_statuses_are_replayed_too() -> None:
    first, second = WarmUp(shape_named("gang")), WarmUp(shape_named("gang"))
    said = [Patch(MEASURED, "gang-0", {"status": {"phase": p}}) for p in ("Pending", "Scheduled")]
    for patch in said:
        first.store.patch_status(POD_GROUP, [patch])
    first.seen.look(0)
    plan = writes_of(first.seen)
    assert [(each.name, each.patch["status"]["phase"]) for each in plan.statuses] == [
        ("gang-0", "Pending"),
        ("gang-0", "Scheduled"),
    ]
    assert replay(second.store, plan).failed == 0
    second.seen.look(0)
    assert second.seen.statuses == first.seen.statuses


def test_a_replay_counts_what_was_not_taken() -> None:
    trial = WarmUp(shape_named("basic"))
    plan = WritePlan(
        [Bind(MEASURED, "absent", "u", "node-00000")], [Eviction(MEASURED, "absent", "u")]
    )
    done = replay(trial.store, plan)
    assert (done.bound, done.failed) == (0, 2)


def test_a_side_is_timed_from_just_before_its_first_write_to_its_last_binding() -> None:
    trial = WarmUp(shape_named("basic"))
    seen = trial.seen
    seen.look(5.0)
    pods = trial.store.list(POD).records
    waiting = [Bind(pod.namespace, pod.name, pod.uid, "node-00000") for pod in pods if not pod.node]
    for bind, pause in zip(waiting, (0.25, 1.0), strict=False):
        trial.store.bind([bind])
        seen.look(pause)
    seen.look(3.0)
    last = max(seen.bound.values())
    assert (len(seen.bound), last - seen.idle_at, seen.looked_at - last) == (2, 1.25, 3.0)


def test_a_follower_has_the_time_of_the_last_write_of_another_kind() -> None:
    trial = WarmUp(shape_named("preemption"))
    seen = trial.seen
    pods = trial.store.list(POD).records
    waiting = next(pod for pod in pods if not pod.node)
    running = next(pod for pod in pods if pod.node)
    trial.store.bind([Bind(waiting.namespace, waiting.name, waiting.uid, "node-00000")])
    seen.look(0.5)
    trial.store.evict([Eviction(running.namespace, running.name, running.uid)])
    seen.look(2.0)
    seen.look(1.0)
    assert max(seen.bound.values()) - seen.idle_at == 0.5
    assert (seen.wrote_at - seen.idle_at, seen.looked_at - seen.wrote_at) == (2.5, 1.0)


def test_a_gang_status_before_its_bindings_does_not_start_the_time() -> None:
    trial = WarmUp(shape_named("gang"))
    trial.store.patch_status(POD_GROUP, [Patch(MEASURED, "gang-0", {"status": {"phase": "P"}})])
    trial.seen.look(1.0)
    trial.seen.look(4.0)
    assert trial.seen.wrote_at == 1.0
    assert (trial.seen.has_begun, trial.seen.idle_at) == (False, 1.0)


def test_a_curve_rises_from_the_first_pod_to_the_last_binding() -> None:
    curve = curve_of([100.0, 101.0, 102.0], [103.0, 110.0])
    assert (curve.t[0], curve.t[-1]) == (0.0, 10.0)
    assert (curve.created[-1], curve.scheduled[0], curve.scheduled[-1]) == (3, 0, 2)
    assert curve_of([], []) == PodCurve([], [], [])


def drained(pods_per_s: float, *waits: float, bound: int = 100) -> BenchRound:
    """A round with such a rate."""
    drain = DrainPass(bound, bound / pods_per_s, 2.0, 0.02)
    curve = PodCurve([0.0, 1.0], [0, bound], [0, bound])
    return BenchRound(drain, list(waits), ProcessUsage(3.0, 150.0), curve, WritePlan([]))


def test_figures_are_medians_over_the_rounds() -> None:
    sides = {
        "stretto": [drained(900.0, 0.1, 0.2), drained(1100.0, 0.3, 0.4)],
        "kube-scheduler": [drained(200.0, 1.0), drained(300.0, 2.0)],
    }
    ceilings = [WriteCeiling(100, 0.1, 0), WriteCeiling(100, 0.0625, 2)]
    found = bench.result_of(WorkloadCounts(0, 100, 2), NODES, sides, ceilings)
    assert (found.api_ceiling_per_s, found.replay_failed) == (1300.0, 2)
    assert found.ceiling_rounds_per_s == [1000.0, 1600.0]
    assert (found.ratio, found.share_of_ceiling) == (4.0, 0.769)
    ours = found.stretto
    assert (ours.pods_per_s, ours.p50_s, ours.p99_s) == (1000.0, 0.2, 0.4)
    assert (ours.cpu_us_per_pod, ours.start_to_first_binding_s, ours.rss_mb) == (200.0, 2.0, 150.0)


def test_pods_that_stay_out_are_counted_and_have_no_latency() -> None:
    side = bench.side_of([drained(10.0, 0.1, float("inf"), bound=90)], WorkloadCounts(0, 100, 3))
    assert (side.bound, side.unbound) == (90, 10 + 2)
    assert (side.p50_s, side.p99_s) == (0.1, None)


def test_a_side_that_binds_nothing_has_no_rate() -> None:
    nothing = drained(1.0)._replace(drain=DrainPass(0, None, None, None))
    found = bench.result_of(WorkloadCounts(0, 100, 2), NODES, {"stretto": [nothing]}, [])
    assert (found.stretto.pods_per_s, found.api_ceiling_per_s, found.ratio) == (None, None, None)


def test_kube_scheduler_has_no_result_for_gangs() -> None:
    requested = KubeBenchOptions(both_settings=False)
    assert bench.schedulers_of(shape_named("gang"), requested) == ["stretto"]
    assert bench.schedulers_of(shape_named("basic"), requested) == ["stretto", "kube-scheduler"]
    found = bench.result_of(WorkloadCounts(0, 100, 2), NODES, {"stretto": [drained(10.0)]}, [])
    written = bench.plain({"gang": found})["gang"]
    assert written["kube-scheduler"] is None
    assert {"pods_per_s", "p50_s", "p99_s"} <= written["stretto"].keys()
    assert {"api_ceiling_per_s", "ratio", "share_of_ceiling"} <= written.keys()


def test_stretto_is_measured_with_and_without_scheduled_events() -> None:
    sides = ["stretto", "stretto-without-events", "kube-scheduler"]
    assert bench.schedulers_of(shape_named("basic"), KubeBenchOptions()) == sides
    rounds = {name: [drained(rate)] for name, rate in zip(sides, (10.0, 12.0, 2.0), strict=True)}
    found = bench.result_of(WorkloadCounts(0, 100, 2), NODES, rounds, [])
    assert found.ratio == 5.0
    assert bench.plain({"basic": found})["basic"]["stretto-without-events"]["pods_per_s"] == 12.0


def test_an_unknown_workload_is_rejected_with_the_known_ones() -> None:
    result = CliRunner().invoke(cli, ["bench", "kube", "--workload", "basic,sprad"])
    assert result.exit_code == 2
    assert "spread" in result.stderr


def test_workloads_are_taken_once_each_and_at_least_one() -> None:
    assert KubeBenchOptions(workload="gang, basic,gang").names() == ["gang", "basic"]
    with pytest.raises(UnknownNameError, match="churn"):
        KubeBenchOptions(workload="chrun").names()
    with pytest.raises(InputError, match="one or more"):
        KubeBenchOptions(workload=" ,").names()


def test_the_plot_of_rates_has_the_ratio_of_each_workload_and_the_ceiling() -> None:
    rates = {"basic": WorkloadRates(1200, 300, 1500), "gang": WorkloadRates(900, None, 1100)}
    svg = rates_plot(rates, "Commit 1a2b3c.")["kube-rates.svg"].decode()
    for text in ("basic: 4.0 times", ">gang<", "API server alone", "Commit 1a2b3c."):
        assert text in svg
