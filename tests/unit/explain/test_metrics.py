"""Metrics: whole batches counted, what waits counted by why, and nothing that no longer holds."""

from typing import Any

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from stretto.api.wire.kinds import POD
from stretto.control.reporting.reporter import ReportConfig
from stretto.explain.metrics.census import NOT_EVALUATED, Census
from stretto.explain.metrics.exposition import text_of
from stretto.explain.metrics.gauges import WatchedPlane
from stretto.explain.metrics.metrics import Metrics
from stretto.explain.metrics.tally import (
    CounterMetric,
    HistogramMetric,
    MetricFamily,
    MetricKind,
    gauge,
)
from stretto.stores.store import Update
from stretto.testing import Harness, make_node, make_pod

GATED = {"schedulingGates": [{"name": "g"}]}


class Measured:
    """A harness with metrics."""

    def __init__(self, **config: Any) -> None:
        nodes = [make_node("n", cpu="4")]
        self.at = Harness(nodes=nodes, config={"tier": "numpy", **config})
        plane = self.at.plane
        views, reporter = plane.dispatcher.views, plane.reporter
        watched = WatchedPlane(plane.engine, plane.units, views, plane.verdicts, reporter)
        self.metrics = Metrics(watched, self.at.clock)
        plane.observers.append(self.metrics.observe)
        plane.witnesses.append(self.metrics.witness)

    def family(self, name: str) -> MetricFamily:
        return next(each for each in self.metrics.families() if each.name == name)

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        return dict(self.family(name).values)


def some_work(**config: Any) -> Measured:
    measured = Measured(**config)
    measured.at.submit(
        make_pod("a", cpu="3"),
        make_pod("b", cpu="3"),
        make_pod("big", cpu="64"),
        make_pod("odd", spec={"nodeSelector": {"a": "b"}}),
        make_pod("held", spec=GATED),
    )
    measured.at.settle()
    return measured


def test_attempts_are_counted_by_their_result() -> None:
    assert some_work().values("scheduler_schedule_attempts") == {
        ("scheduled", "stretto"): 1,
        ("unschedulable", "stretto"): 3,
    }


def test_pending_pods_are_counted_by_the_queues_of_kube_scheduler() -> None:
    assert some_work().values("scheduler_pending_pods") == {
        ("active",): 0,
        ("backoff",): 0,
        ("unschedulable",): 3,
        ("gated",): 1,
    }


def test_what_waits_is_counted_by_code_and_tier() -> None:
    assert some_work().values("stretto_waiting_pods") == {
        ("gated", "waiting"): 1,
        ("not-allowed", "not allowed"): 1,
        ("too-big", "never fits"): 1,
        ("no-capacity", "waiting"): 1,
    }


def test_a_reason_that_no_longer_holds_is_gone_at_once() -> None:
    measured = some_work()
    for name in ("big", "odd", "held", "a"):
        measured.at.delete(name)
    measured.at.settle()
    assert measured.values("stretto_waiting_pods") == {}
    assert measured.values("scheduler_unschedulable_pods") == {}


def test_unschedulable_pods_are_counted_by_each_rule_that_refuses_them() -> None:
    assert some_work().values("scheduler_unschedulable_pods") == {
        ("NodeResourcesFit", "stretto"): 2,
        ("NodeAffinity", "stretto"): 1,
    }


def test_the_wait_of_a_pod_counts_from_the_removal_of_its_gate() -> None:
    measured = Measured()
    measured.at.submit(make_pod("held", spec=GATED))
    measured.at.settle(100)
    record = measured.at.store.list(POD).records[0]
    body = make_pod("held").replace(b'"spec":{', b'"spec":{"schedulingGates":[],')
    measured.at.store.update(POD, [Update(record.namespace, record.name, body)])
    measured.at.settle(1)
    (buckets,) = measured.family("scheduler_pod_scheduling_sli_duration_seconds").buckets.values()
    assert measured.at.node_of("held") == "n"
    assert buckets.total < 1


def test_attempts_until_success_are_counted_for_each_pod() -> None:
    measured = some_work()
    measured.at.delete("a")
    measured.at.settle()
    (buckets,) = measured.family("scheduler_pod_scheduling_attempts").buckets.values()
    assert buckets.counts.tolist()[:2] == [1, 1]
    assert buckets.total == 3


def test_gangs_are_counted_by_what_their_unit_waits_for() -> None:
    measured = Measured()
    measured.at.group("short", 3)
    measured.at.group("few", 4)
    measured.at.submit(*(make_pod(f"s{i}", cpu="2", group="short") for i in range(3)))
    measured.at.submit(make_pod("f", group="few"), make_pod("x", group="absent"))
    measured.at.settle()
    waiting = {code: n for (code, _), n in measured.values("stretto_waiting_pods").items()}
    assert waiting == {"gang-short": 3, "gang-incomplete": 1, "unknown-group": 1}


def test_classes_beyond_the_budget_count_as_not_checked() -> None:
    measured = Measured()
    measured.at.submit(*(make_pod(f"p{i}", cpu=f"{64 + i}") for i in range(70)))
    measured.at.settle()
    plane = measured.at.plane
    census = Census(plane.engine, plane.units)
    assert census.counts(0.0) == {"too-big": 64, NOT_EVALUATED: 6}
    assert census.counts(1.0) == {"too-big": 70}


def test_reports_in_the_store_are_counted() -> None:
    measured = some_work(report=ReportConfig())
    assert measured.values("stretto_reports") == {("condition",): 4, ("event",): 4}


def test_the_text_is_what_a_monitoring_system_reads() -> None:
    text = text_of(some_work().metrics.families())
    found = {each.name: each for each in text_string_to_metric_families(text)}
    assert found["scheduler_schedule_attempts"].type == "counter"
    assert found["scheduler_pending_pods"].type == "gauge"
    buckets = found["scheduler_scheduling_attempt_duration_seconds"].samples
    assert {each.labels.get("result") for each in buckets} == {"scheduled", "unschedulable"}


# ---------------------------------------------------------------- the tallies alone


def test_a_histogram_counts_values_at_and_below_each_bound() -> None:
    histogram = HistogramMetric("h", "help", (1.0, 2.0))
    histogram.add(np.array([0.5, 1.0, 1.5, 9.0]))
    histogram.add_same(2.0, 3)
    (buckets,) = histogram.family().buckets.values()
    assert buckets.counts.tolist() == [2, 4, 1]
    assert buckets.total == 18.0


def test_a_counter_keeps_its_labels_apart() -> None:
    count = CounterMetric("c", "help", "what")
    count.add(2, "a")
    count.add(3, "b")
    count.add(0, "never")
    assert count.family().values == {("a",): 2, ("b",): 3}


def test_odd_label_values_are_escaped_in_the_text() -> None:
    text = text_of([gauge("g", "help", ("l",), {('a"b\n\\',): 1.0})])
    (family,) = text_string_to_metric_families(text)
    assert family.samples[0].labels == {"l": 'a"b\n\\'}
    assert MetricKind.GAUGE.value == family.type


def test_preemptions_are_counted_with_their_victims() -> None:
    measured = Measured()
    measured.at.submit(*(make_pod(f"low-{i}", cpu="2", priority=1) for i in range(2)))
    measured.at.settle()
    measured.at.submit(make_pod("high", cpu="4", priority=9))
    measured.at.settle(5)
    assert measured.values("scheduler_preemption_attempts") == {(): 1}
    (buckets,) = measured.family("scheduler_preemption_victims").buckets.values()
    assert (buckets.total, buckets.counts.tolist()[:2]) == (2.0, [0, 1])
    assert measured.values("scheduler_schedule_attempts")["scheduled", "stretto"] == 3


def test_evictions_are_a_counter_by_cause() -> None:
    measured = some_work()
    assert measured.values("stretto_evicted_pods") == {}
    measured.at.submit(make_pod("urgent", cpu="4", priority=9))
    measured.at.settle()
    found = measured.family("stretto_evicted_pods")
    assert (found.kind, dict(found.values)) == (MetricKind.COUNTER, {("preempted",): 1})


def test_rules_between_pods_are_reasons_like_any_other() -> None:
    measured = Measured()
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    labels = {"app": "db"}
    measured.at.submit(*(make_pod(f"db-{i}", labels=labels, spec={"affinity": anti}) for i in "ab"))
    measured.at.settle()
    assert measured.values("scheduler_unschedulable_pods") == {("InterPodAffinity", "stretto"): 1}
    assert sum(measured.values("stretto_waiting_pods").values()) == 1
