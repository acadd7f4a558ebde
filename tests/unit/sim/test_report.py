"""The report at the end of a run: counts, reasons, GPUs by model, tables and plots."""

import pytest

from stretto.sim.counters import StepCounters
from stretto.sim.occupancy import OccupancyTimeline
from stretto.sim.pending import waiting_pods
from stretto.sim.plots.run import run_plots
from stretto.sim.report import placements_of, summarise, tables
from stretto.testing import Harness, make_node, make_pod


def harness_of(*nodes: bytes) -> Harness:
    """A harness on the tier that needs no compiling."""
    return Harness(nodes, config={"tier": "numpy"})


def crowded() -> tuple[Harness, StepCounters]:
    """Two GPU nodes and one without, and pods; some fit nowhere."""
    nodes = [make_node(f"g{i}", cpu="8", gpus=2, model="T4") for i in range(2)]
    harness = harness_of(*nodes, make_node("c", cpu="4"))
    meter = StepCounters(harness.plane)
    harness.submit(*(make_pod(f"gpu-{i}", cpu="1", gpus=1) for i in range(5)))
    harness.submit(make_pod("big", cpu="9"), make_pod("share", gpus=1, gpu_milli=500))
    harness.submit(make_pod("odd", resources={"example.com/fpga": "1"}))
    harness.settle()
    return harness, meter


def test_a_report_counts_what_is_placed_and_what_waits() -> None:
    harness, meter = crowded()
    report = summarise(harness.plane, meter)
    assert (report.nodes, report.pods, report.placed, report.pending) == (3, 8, 4, 4)
    assert report.placed_by_shard == {"0": 4}
    assert (report.conflicts, report.conflict_pct) == (0, 0.0)


def test_pending_pods_are_counted_by_reason() -> None:
    harness, _ = crowded()
    found = {(each.code, each.refusal): each.pods for each in waiting_pods(harness.plane)}
    assert found[("no-capacity", "Insufficient nvidia.com/gpu")] == 2
    assert found[("too-big", "Insufficient cpu")] == 1
    assert found[("unknown-resource", "")] == 1


def test_each_reason_has_an_example_and_a_sentence() -> None:
    harness, _ = crowded()
    [big] = [each for each in waiting_pods(harness.plane) if each.code == "too-big"]
    assert big.example == "default/big"
    assert "cpu: requests 9, largest 8" in big.sentence


def test_kinds_beyond_the_limit_are_counted_without_a_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.sim.pending.EXPLAINED", 1)
    harness, _ = crowded()
    found = waiting_pods(harness.plane)
    assert sum(each.pods for each in found) == 4
    assert "not looked at" in {each.code for each in found}


def test_a_gang_that_is_short_has_a_reason() -> None:
    harness = harness_of(make_node("n", cpu="2"))
    harness.group("g", 3)
    harness.submit(*(make_pod(f"m{i}", cpu="1", group="g") for i in range(3)))
    harness.settle()
    [found] = waiting_pods(harness.plane)
    assert (found.code, found.pods) == ("gang-too-big", 3)


def test_the_placement_of_a_pod_has_its_node_and_devices() -> None:
    harness, _ = crowded()
    found = {each.pod: each for each in placements_of(harness.plane.cluster)}
    assert len(found) == 8
    assert (found["default/big"].node, found["default/big"].devices) == ("", "")
    assert {found[f"default/gpu-{i}"].node for i in range(5)} <= {"g0", "g1", ""}
    assert sorted(each.devices for each in found.values() if each.node == "g0") == ["0", "1"]


def test_gpus_are_reported_by_model() -> None:
    harness, meter = crowded()
    [model] = summarise(harness.plane, meter).models
    assert (model.model, model.nodes, model.gpus) == ("T4", 2, 4)
    assert model.allocated_pct == pytest.approx(100 * model.allocated_milli / 4000)
    assert model.fragmented_pct is not None
    assert 0 <= model.fragmented_pct <= 100 - model.allocated_pct


def test_nothing_is_fragmented_if_no_pod_requests_a_gpu() -> None:
    harness = harness_of(make_node("n", cpu="8", gpus=4, model="T4"))
    meter = StepCounters(harness.plane)
    harness.submit(make_pod("web"))
    harness.settle()
    [model] = summarise(harness.plane, meter).models
    assert model.fragmented_pct is None


def test_other_resources_leave_out_places_for_pods() -> None:
    harness, meter = crowded()
    found = {each.resource: each for each in summarise(harness.plane, meter).resources}
    assert list(found) == ["cpu", "memory"]
    assert found["cpu"].offered == 20_000


def test_latency_is_in_milliseconds_of_the_plane_s_clock() -> None:
    harness = harness_of(make_node("n", cpu="1"))
    meter = StepCounters(harness.plane)
    harness.submit(make_pod("a", cpu="1"), make_pod("b", cpu="1"))
    harness.settle()
    harness.clock.advance(2.0)
    harness.delete("a")
    harness.settle()
    latency = summarise(harness.plane, meter).latency
    assert latency is not None
    assert (latency.max_ms, latency.p50_ms) == (2000.0, 1000.0)


def test_a_run_without_pods_has_a_report() -> None:
    harness = harness_of(make_node("n"))
    report = summarise(harness.plane, StepCounters(harness.plane), partial=True)
    assert (report.placed, report.latency, report.waiting, report.partial) == (0, None, (), True)
    assert [table.title for table in tables(report)] == ["", "other resources"]


def test_tables_show_what_there_is() -> None:
    harness, meter = crowded()
    report = summarise(harness.plane, meter)
    assert [table.title for table in tables(report)] == ["", "pending", "GPUs", "other resources"]
    assert all(len(row) == len(t.columns) for t in tables(report) for row in t.rows)


def plots_of(harness: Harness, meter: StepCounters, timeline: OccupancyTimeline) -> dict[str, str]:
    """The SVG of each plot by the stem of its file."""
    report = summarise(harness.plane, meter)
    found = run_plots(report, timeline.samples(), harness.plane.cluster)
    return {n.removesuffix(".svg"): svg.decode() for n, svg in found.items() if n.endswith("svg")}


def test_a_small_run_is_plotted_by_resource_by_reason_and_by_device() -> None:
    harness, meter = crowded()
    drawn = plots_of(harness, meter, OccupancyTimeline(harness.plane, float))
    assert list(drawn) == ["allocated", "pending", "nodes"]
    assert "Allocated at the end: 20 % of cpu" in drawn["allocated"]
    assert "too-big" in drawn["pending"]
    assert "4 of 4 devices allocated; 0 of 2 nodes without a device in use" in drawn["nodes"]


def test_without_pods_and_devices_the_map_shows_resources() -> None:
    harness = harness_of(make_node("n", cpu="4"))
    timeline = OccupancyTimeline(harness.plane, float)
    harness.settle()
    drawn = plots_of(harness, StepCounters(harness.plane), timeline)
    assert list(drawn) == ["allocated", "nodes"]
    assert "1 of 1 node idle at the end" in drawn["nodes"]


def test_a_timeline_has_scenario_seconds_if_any_pass() -> None:
    harness = harness_of(make_node("n", cpu="4"))
    timeline = OccupancyTimeline(harness.plane, lambda time: 10 * time)
    for number in range(3):
        harness.submit(make_pod(f"p{number}", cpu="1"))
        harness.settle(1.0)
    samples, of_scenario = timeline.samples()
    assert of_scenario
    assert (samples[-1].time_s, samples[-1].used[0]) == (30.0, 0.75)


def test_a_timeline_of_one_instant_has_clock_seconds() -> None:
    harness = harness_of(make_node("n", cpu="4"))
    timeline = OccupancyTimeline(harness.plane, lambda _: 0.0)
    harness.submit(make_pod("p", cpu="1"))
    harness.settle(5.0)
    samples, of_scenario = timeline.samples()
    assert (of_scenario, samples[-1].time_s) == (False, 5.0)
